"""The commands: a module, or a package, for each subject, found by `tapui.cli.parser`.

A new command is a new file here, and nothing else:

    COMMANDS = '''
    250 wave: greet a person
    '''

    def arguments(wave: CommandParser) -> None:
        wave.runs(run, "More, in its own help.")
        wave.add_argument("name", metavar="NAME", help="the person's name")

    def run(args: argparse.Namespace) -> int:
        ...

`COMMANDS` (in double quotes, at the left margin) has a line for each of the module's commands: its
place in `tapui --help`, its name and what it does. It is read from the source, so that a command
imports nothing of the others. `arguments` gets a parser for each, in the same order, once one of
them is asked for.
"""
