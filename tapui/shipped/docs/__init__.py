"""The provider `docs`: documents of libraries, of tapui's own words, of the person's folders and of
the packages that are installed for a session's folder."""
