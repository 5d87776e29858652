"""The provider `sast`: what scanners found, from SARIF files of a session's folder."""
