"""What commands get of the gateway's environment."""

from tapui.emitters.runner.environment import command_environment


def test_tokens_and_what_loads_code_are_left_out() -> None:
    environ = {
        "PATH": "/bin",
        "HOME": "/home/a",
        "PYTHONPATH": "/lib",
        "LANGUAGE": "de",
        "TAP_PROVIDER_TOKEN": "secret",
        "TAPUI_HOME": "/x",
        "TAPUI_ANYTHING": "x",
        "LD_PRELOAD": "/x.so",
        "LD_LIBRARY_PATH": "/x",
        "DYLD_INSERT_LIBRARIES": "/x",
        "BASH_ENV": "/x",
        "ENV": "/x",
        "BASH_FUNC_ls%%": "() { :; }",
        "NODE_OPTIONS": "--require x",
        "PYTHONSTARTUP": "/x",
        "PERL5OPT": "-Mx",
        "RUBYOPT": "-rx",
        "JAVA_TOOL_OPTIONS": "-javaagent:x",
        "BYTES": "\udcff",
    }
    given, refused = command_environment(environ, {})
    assert given == {"PATH": "/bin", "HOME": "/home/a", "PYTHONPATH": "/lib", "LANGUAGE": "de"}
    assert refused == []


def test_emitter_names_what_it_needs_but_nothing_of_ours_and_nothing_impossible() -> None:
    given, refused = command_environment(
        {"PATH": "/bin", "A": "1"},
        {"A": "2", "NODE_OPTIONS": "--max-old-space-size=512", "TAP_PROVIDER_TOKEN": "x"}
        | {"TAPUI_HOME": "/x", "B=C": "x", "": "x", "N": "a\0b", "S": "\ud800"},
    )
    assert given == {"PATH": "/bin", "A": "2", "NODE_OPTIONS": "--max-old-space-size=512"}
    assert refused == ["", "B=C", "N", "S", "TAPUI_HOME", "TAP_PROVIDER_TOKEN"]
