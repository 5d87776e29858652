"""The sessions of the demo, a module each."""

from tapui.cli.demo.scripts import migration, pairing, release, rounding

SCRIPTS = (pairing.SCRIPT, release.SCRIPT, migration.SCRIPT, rounding.SCRIPT)
