"""The sessions of the demo, a module each."""

from tapui.cli.demo.scripts import migration, pairing, release

SCRIPTS = (pairing.SCRIPT, release.SCRIPT, migration.SCRIPT)
