"""What options of well-known programs do no more than their program's name says.

Each module has a table as text; `policies/options.py` reads it. A line is a program or
several of them with commas, its verbs, and what may follow without a question:

    -x, --all       an option without a value
    -n:             an option with a value, in the same word or the next
    --color?        an option that may have a value, in the same word only
    -s:ort|ours|x*  only these values; * stands for any characters
    -#              a number, as in `head -20`
    !-C:            an option that runs something else or writes elsewhere: asked, unless the rule
                    names it. It is listed where its value may stand in the next word
    @set            the options of a line that begins with @set
    {1}             at most so many words that are no options
    +               the word behind the verb belongs to the verb: `npm run build`

A line that begins with ! is a verb that only a rule which names it allows. A verb `--` is what may
stand behind that word. `--help` and `--version` are known for all programs. An option that is not
listed is asked, however it is written: programs guess it from its beginning, the table does not.
"""
