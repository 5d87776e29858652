"""The provider `ci-watcher`: runs of a continuous integration, and what failed in them."""
