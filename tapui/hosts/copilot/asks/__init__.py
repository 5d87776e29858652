"""What a CLI asks the person: permissions, questions, forms and plans, answered from here.

`word_leads` follows the paths of a command through links and patterns, for the rules that judge it.
"""
