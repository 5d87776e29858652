"""What providers share that ask a service over HTTP: `service` asks, `tokens` finds the token that
goes along, `github` knows GitHub and a folder's repository, `outside` marks answers as data."""
