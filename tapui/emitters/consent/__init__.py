"""The person's consent to what a repository's configuration starts."""
