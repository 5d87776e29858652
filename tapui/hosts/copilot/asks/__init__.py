"""What a CLI asks the person: permissions, questions, forms and plans, answered from here."""
