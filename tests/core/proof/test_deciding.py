"""What the exit code of a shell text says about each of its parts."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tapui.core.proof.checks import check
from tapui.core.proof.deciding import Outcome, ShellPart, read

COMMON = [
    # text, the check's words, its folder
    ("pytest", "pytest", ""),
    ("pytest -q", "pytest", ""),
    ("pytest -x -q --tb=short", "pytest", ""),
    ("pytest tests/unit -v", "pytest tests/unit", ""),
    ("pytest tests/test_api.py::test_login -vv", "pytest tests/test_api.py::test_login", ""),
    ("python -m pytest", "pytest", ""),
    ("python3 -m pytest -q 2>&1", "pytest", ""),
    ("cd backend && python -m pytest -q", "pytest", "backend"),
    ("cd /work/app && pytest", "pytest", "/work/app"),
    ("uv run pytest", "pytest", ""),
    ("uv run --frozen pytest -q", "pytest", ""),
    ("poetry run pytest", "pytest", ""),
    ("pipenv run pytest", "pytest", ""),
    ("hatch run pytest", "pytest", ""),
    (".venv/bin/pytest", "pytest", ""),
    ("./.venv/bin/python -m pytest", "pytest", ""),
    ("source .venv/bin/activate && pytest", "pytest", ""),
    (". venv/bin/activate && python -m pytest -q", "pytest", ""),
    ("timeout 300 pytest -q", "pytest", ""),
    ("time pytest", "pytest", ""),
    ("pytest > /tmp/out.txt 2>&1", "pytest", ""),
    ("set -o pipefail; pytest 2>&1 | tee test.log", "pytest", ""),
    ("set -eo pipefail && pytest | tail -20", "pytest", ""),
    ("pytest # all of them", "pytest", ""),
    ("CI=1 pytest", "pytest", ""),
    ("PYTHONPATH=. pytest", "pytest", ""),
    ("bash -lc 'pytest -q'", "pytest", ""),
    ("export PATH=$PATH:/usr/local/go/bin && go test ./...", "go test ./...", ""),
    ("pytest --cov=src --cov-report=term-missing", "pytest --cov=src", ""),
    ("python -m unittest discover -v", "unittest discover", ""),
    ("python manage.py test", "manage.py test", ""),
    ("tox", "tox", ""),
    ("coverage run -m pytest", "pytest", ""),
    ("npm test", "npm test", ""),
    ("npm run test", "npm test", ""),
    ("npm t", "npm test", ""),
    ("npm --silent test", "npm test", ""),
    ("npm test --silent 2>&1", "npm test", ""),
    ("CI=true npm test -- --watchAll=false", "npm test", ""),
    ("npm --prefix web test", "npm test", "web"),
    ("cd web && npm ci && npm test", "npm test", "web"),
    ("(cd web && npm test)", "npm test", "web"),
    ("npm run build", "npm run build", ""),
    ("npm run lint", "npm run lint", ""),
    ("npm run lint && npm run typecheck && npm test", "npm run typecheck", ""),
    ("yarn test", "yarn test", ""),
    ("yarn run test", "yarn test", ""),
    ("yarn jest", "jest", ""),
    ("pnpm test", "pnpm test", ""),
    ("pnpm -C packages/a test", "pnpm test", "packages/a"),
    ("pnpm exec vitest run", "vitest run", ""),
    ("bun test", "bun test", ""),
    ("npx jest", "jest", ""),
    ("npx --no-install jest --ci", "jest --ci", ""),
    ("node_modules/.bin/jest", "jest", ""),
    ("npx vitest run", "vitest run", ""),
    ("npx tsc --noEmit", "tsc --noEmit", ""),
    ("npx -p typescript tsc --noEmit", "tsc --noEmit", ""),
    ("tsc --noEmit && npm test", "tsc --noEmit", ""),
    ("npx eslint . --max-warnings 0", "eslint . --max-warnings 0", ""),
    ("npx playwright test", "playwright test", ""),
    ("npx mocha", "mocha", ""),
    ("node --test", "node --test", ""),
    ("deno test -A", "deno test -A", ""),
    ("cargo test", "cargo test", ""),
    ("cargo test --workspace 2>&1", "cargo test --workspace", ""),
    ("cargo build && cargo test", "cargo build", ""),
    ("cargo clippy --all-targets -- -D warnings", "cargo clippy --all-targets -- -D warnings", ""),
    ('RUSTFLAGS="-D warnings" cargo build', "cargo build", ""),
    ("cargo fmt --check", "cargo fmt --check", ""),
    ("go test ./...", "go test ./...", ""),
    ("go test -v -race ./...", "go test -race ./...", ""),
    ("go build ./... && go vet ./... && go test ./...", "go vet ./...", ""),
    ("make test", "make test", ""),
    ("make -C server -j$(nproc) test", "make -jN test", "server"),
    ("make -s check", "make check", ""),
    ("ruff check .", "ruff check .", ""),
    ("ruff check . && ruff format --check . && mypy src", "mypy src", ""),
    ("mypy src", "mypy src", ""),
    ("uv run mypy --strict tapui", "mypy --strict tapui", ""),
    ("pyright", "pyright", ""),
    ("black --check .", "black --check .", ""),
    ("flake8", "flake8", ""),
    ("./gradlew test", "gradlew test", ""),
    ("./gradlew :app:testDebugUnitTest --console=plain", "gradlew :app:testDebugUnitTest", ""),
    ("gradle build", "gradle build", ""),
    ("mvn -q -B test", "mvn test", ""),
    ("./mvnw verify", "mvnw verify", ""),
    ("dotnet test", "dotnet test", ""),
    ("dotnet build --nologo && dotnet test --no-build", "dotnet test --no-build", ""),
    ("bundle exec rspec", "rspec", ""),
    ("bin/rails test", "bin/rails test", ""),
    ("vendor/bin/phpunit", "phpunit", ""),
    ("composer test", "composer test", ""),
    ("php artisan test", "php artisan test", ""),
    ("ctest --test-dir build --output-on-failure", "ctest", "build"),
    ("cmake --build build && ctest --test-dir build", "cmake --build build", ""),
    ("mix test", "mix test", ""),
    ("swift test", "swift test", ""),
    ("bash -c 'cd web && npm test'", "npm test", "web"),
    ("cd x || exit 1; pytest", "pytest", "x"),
    ("set -e\ncd x\npytest", "pytest", "x"),
    ("echo 'running tests' && pytest && echo passed", "pytest", ""),
    ("pytest || exit 1", "pytest", ""),
    ("pytest || { echo failed; exit 1; }", "pytest", ""),
    (
        "cat > tests/test_a.py <<'EOF'\ndef test_a():\n    assert f(\"x\") == `1`\nEOF\npytest",
        "pytest",
        "",
    ),
    ("cd a && cat > b.py << EOF && pytest\nx = 1\nEOF", "pytest", "a"),
    ("pytest && git commit -m \"$(cat <<'EOF'\nfix: it isn't (yet)\n`x`\nEOF\n)\"", "pytest", ""),
    ("git status --short; npm test", "npm test", ""),
    ("npm run lint &&\n  npm test &&\n  npm run build", "npm test", ""),
]
UNKNOWN_BUT_COMMON = [
    ("pytest 2>&1 | tail -20", "pytest"),
    ("npm test 2>&1 | tail -50", "npm test"),
    ("cd web && npm run build 2>&1 | grep -i error", "npm run build"),
    ("pytest; echo $?", "pytest"),
    ("cargo test 2>&1 | head -100", "cargo test"),
    ("npm test || true", "npm test"),
]
"""Common, too: why they are unknown is a sentence, and four are counted by their summary."""


def part_of(text: str, words: str) -> int:
    wanted = read(words).parts[0] if read(words).parts else ShellPart(tuple(words.split()))
    wanted = wanted._replace(words=tuple(words.split()))
    return next(at for at, one in enumerate(read(text).parts) if one.is_same(wanted))


@pytest.mark.parametrize(("text", "words", "folder"), COMMON)
def test_a_common_way_to_run_a_check_is_decided(text: str, words: str, folder: str) -> None:
    reading = read(text)
    at = part_of(text, words)
    assert reading.parts[at].folder == folder
    assert reading.outcome(at, 0) == Outcome("passed")
    assert reading.outcome(at, 1).state in ("failed", "one of")
    assert reading.outcome(at, 124).state == "unknown"
    assert reading.outcome(at, None).state == "unknown"


@pytest.mark.parametrize(("text", "words"), UNKNOWN_BUT_COMMON)
def test_what_is_common_and_unknown_has_a_reason(text: str, words: str) -> None:
    for code in (0, 1):
        found = read(text).outcome(part_of(text, words), code)
        assert found.state == "unknown"
        assert found.reason


def test_at_most_a_tenth_of_the_common_ways_is_unknown() -> None:
    assert len(COMMON) + len(UNKNOWN_BUT_COMMON) >= 60
    assert len(UNKNOWN_BUT_COMMON) * 10 <= len(COMMON) + len(UNKNOWN_BUT_COMMON)


HOSTILE = r"""
pytest || true
pytest || :
pytest; true
pytest ; exit 0
pytest; echo done
pytest\n true
! pytest
!  ( pytest )
pytest &
pytest & wait
(pytest) &
{ pytest; } &
pytest | cat
pytest | tee log
pytest |& tail -1
pytest 2>&1 | grep -c passed
pytest | xargs echo
true | pytest | true
(pytest; true)
( pytest || true ) && true
{ pytest; echo; }
{ pytest || echo no; }
if pytest; then true; fi
if ! pytest; then echo no; fi
while pytest; do break; done
until pytest; do break; done
for i in 1; do pytest; done
case x in x) pytest;; esac
case x in y) pytest;; esac
x=$(pytest)
echo $(pytest)
echo "$(pytest)"
echo `pytest`
cat <(pytest)
true > >(pytest)
pytest() { :; }; pytest
function pytest { :; }; pytest
pytest () ( exit 0 ); pytest
alias pytest=true; pytest
shopt -s expand_aliases; alias pytest=true; pytest
trap 'exit 0' EXIT; pytest
trap 'exit 0' ERR; pytest
exit 0; pytest
exit 0 && pytest
exec true; pytest
exec pytest; true
eval pytest
eval 'pytest() { :; }'; pytest
eval "$X"; pytest
$X; pytest
"$X" && pytest
source ./lib.sh && pytest
. ./activate; pytest
. /tmp/venv/bin/activate && pytest
source bin/activate && pytest
hash -p /bin/true pytest; pytest
enable -n test; pytest
set -n; pytest
set -a; pytest
bash -n -c pytest
bash -nc pytest
bash -ic pytest
sh -s pytest
bash <<< pytest
bash -c 'pytest; true'
bash -c 'pytest || true'
bash -c "$X"
bash -c "pytest $X"
bash -c 'pytest() { :; }; pytest'
bash --rcfile x -c pytest
PATH=/tmp/x pytest
PATH=.:$PATH pytest
export PATH=$PWD/bin:$PATH; pytest
export PATH=x && pytest
PATH+=:x; pytest
env PATH=x pytest
env -i pytest
env -S 'pytest'
env -u PYTHONPATH pytest
PYTHONPATH=evil pytest
PYTEST_ADDOPTS=--collect-only pytest
export PYTEST_ADDOPTS=-k=none; pytest
declare -x PYTEST_ADDOPTS=--co; pytest
unset PYTEST_ADDOPTS; pytest
read PATH < f; pytest
printf -v PATH x; pytest
for PATH in x; do :; done; pytest
LD_PRELOAD=./x.so pytest
BASH_ENV=x bash -c pytest
ENV=x sh -c pytest
NODE_OPTIONS=--require=./x pytest
HOME=. pytest
IFS=t; pytest
CDPATH=/x; cd a && pytest
./pytest
bin/pytest
./bin/pytest
../pytest
tools/pytest
/tmp/pytest
/tmp/x/.venv/bin/pytest
$PWD/pytest
scripts/node_modules/pytest
~/pytest
pytest.sh
pytest2
"pytest x"
pytest-watch
ptw
pytest --collect-only
pytest --co
pytest -q --co
pytest --help
pytest -h
pytest --version
pytest -V
pytest --fixtures
pytest --setup-plan
pytest -q --tb --co
pytest --color --help
pytest -k nothing
pytest --lf
pytest tests/test_one.py
pytest -m fast
pytest --deselect a
pytest --ignore=tests
pytest -p no:python
pytest -c other.ini
pytest -o addopts=
pytest $ARGS
pytest "$@"
pytest *
pytest {a,b}
pytest --exitfirst=no
python -O -m pytest
python -W ignore -m pytest
python -c 'import pytest'
python pytest.py
python -m pytest2
python pytest
nohup pytest &
setsid pytest
timeout --preserve-status 1 pytest
timeout 5 pytest || true
xargs pytest < /dev/null
find . -name x -exec pytest ;
find . -name x -exec pytest \\;
watch pytest
sudo pytest
ssh host pytest
docker run x pytest
script -c pytest
parallel pytest ::: a
coproc pytest
time pytest | cat
time { pytest; true; }
! time pytest
command -v pytest
type pytest
which pytest
man pytest
echo pytest
# pytest
: pytest
true # && pytest
'pytest
pytest )
pytest && (
pytest <<EOF
cat <<EOF\npytest\nEOF
cat <<'EOF' > run.sh\npytest\nEOF
cat <<EOF | sh\npytest\nEOF
pytest\\\n|| true
pytest \\\n|| true
pytest # x \\\n|| true\n:
pytest;# x\n:
pytest &&\ntrue || true
[ -f x ] && pytest || true
[ -f x ] || pytest
false && pytest || true
true || pytest
test -z x && pytest; true
(exit 0); pytest; :
pytest | (cat)
pytest | { cat; }
{ pytest; } | cat
(pytest) | cat
set -o pipefail; set +o pipefail; pytest | cat
(set -o pipefail); pytest | cat
set -o pipefail || true; pytest || true | cat
[ -t 1 ] && set -o pipefail; pytest | cat
pytest > .venv/bin/x; true
cp x .venv/bin/pytest && pytest
cp fake .venv/bin/pytest; .venv/bin/pytest
echo 'exit 0' > .venv/bin/pytest; .venv/bin/pytest
ln -s /bin/true node_modules/.bin/pytest && pytest
tee .venv/bin/pytest < x; pytest
cd x; pytest
cd $X && pytest
cd - && pytest
popd; pytest
env cd x && cd y; pytest
git bisect run pytest
npm test
uv run --with ./evil pytest
uv run --env-file x pytest
uv run --python 2.7 pytest
uv run -- bash -c 'pytest; :'
conda run -p . pytest
npx -p evil pytest
npx -c pytest
npx pytest@1
poetry run -C x pytest
make pytest
let x=1; pytest
local x=1; pytest
builtin eval x; pytest
p''ytest || true
\\pytest; true
$'pytest'
$"pytest"
"pyt"est | cat
pytest\u00a0
pytest\u200b
\u0440ytest
pytest\r
{pytest;}
{ pytest}
((pytest))
pytest;; true
;pytest
&& pytest
pytest &&
pytest ||
| pytest
"""


def _written(number: str | None, sign: str) -> str:
    return chr(int(number, 16)) if number else {"n": "\n", "r": "\r"}.get(sign, sign)


TABLE = [
    re.sub(r"\\(?:u(....)|(.))", lambda one: _written(one[1], one[2]), line)
    for line in HOSTILE.strip().split("\n")
]


def passing(text: str, criterion: str, code: int = 0, shell: str = "bash") -> list[ShellPart]:
    """Return the parts of a text that prove a criterion in the call's folder."""
    reading = read(text, shell)
    wanted = ShellPart(tuple(criterion.split()))
    return [
        one
        for at, one in enumerate(reading.parts)
        if one.is_same(wanted) and reading.outcome(at, code).state == "passed"
    ]


def test_the_table_is_large() -> None:
    assert len(set(TABLE)) >= 100


@pytest.mark.parametrize("text", TABLE)
def test_a_hostile_or_doubtful_text_never_passes(text: str) -> None:
    for code in (0, 1, 2, 5, 124, 127, 137, None):
        assert passing(text, "pytest", 0 if code is None else code) == []
        reading = read(text)
        for at, _ in enumerate(reading.parts):
            found = reading.outcome(at, code)
            assert found.state != "passed" or code == 0
            assert found.state in ("passed", "failed") or found.reason


@pytest.mark.parametrize(
    ("text", "criterion"),
    [
        ("make -n test", "make test"),
        ("make -sn test", "make test"),
        ("make --dry test", "make test"),
        ("make -q test", "make test"),
        ("make -t test", "make test"),
        ("make -i test", "make test"),
        ("make test PYTEST=true", "make test"),
        ("make -f other.mk test", "make test"),
        ("MAKEFLAGS=n make test", "make test"),
        ("npm test --if-present", "npm test"),
        ("npm test --script-shell=/bin/true", "npm test"),
        ("npm test -- --listTests", "npm test"),
        ("npm test -- --watch", "npm test"),
        ("npm run test:unit", "npm test"),
        ("npm test -w a", "npm test"),
        ("npm_config_script_shell=true npm test", "npm test"),
        ("yarn test", "npm test"),
        ("npx jest --passWithNoTests x", "jest"),
        ("npx jest --listTests", "jest"),
        ("npx jest --watch", "jest"),
        ("npx jest -o", "jest"),
        ("npx jest -t nothing", "jest"),
        ("npx jest@20", "jest"),
        ("npm exec jest --ci", "jest --ci"),
        ("vitest watch", "vitest"),
        ("vitest list", "vitest"),
        ("cargo test --no-run", "cargo test"),
        ("cargo test nothing", "cargo test"),
        ("cargo +nightly test", "cargo test"),
        ("cargo test -p one", "cargo test"),
        ("go test -run=^$ ./...", "go test ./..."),
        ("go test -exec true ./...", "go test ./..."),
        ("go test --list . ./...", "go test ./..."),
        ("GOFLAGS=-run=x go test ./...", "go test ./..."),
        ("go vet ./...", "go test ./..."),
        ("tsc --noEmit --noCheck", "tsc --noEmit"),
        ("tsc --noEmit a.ts", "tsc --noEmit"),
        ("ruff check --exit-zero .", "ruff check ."),
        ("ruff check -e .", "ruff check ."),
        ("ruff check --fix .", "ruff check ."),
        ("ruff check --select E .", "ruff check ."),
        ("mypy --ignore-errors src", "mypy src"),
        ("eslint --no-eslintrc .", "eslint ."),
        ("./gradlew test --dry-run", "gradlew test"),
        ("./gradlew -m test", "gradlew test"),
        ("./gradlew test -x check", "gradlew test"),
        ("gradle test", "gradlew test"),
        ("mvn test -DskipTests", "mvn test"),
        ("mvn -fn test", "mvn test"),
        ("dotnet test -t", "dotnet test"),
        ("dotnet test --filter a", "dotnet test"),
        ("rspec --dry-run", "rspec"),
        ("ctest -N", "ctest"),
        ("A=1 npm test", "npm test"),
    ],
)
def test_another_command_is_not_the_criterion(text: str, criterion: str) -> None:
    assert passing(text, criterion) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("pytest || true", "|| hides its exit code"),
        ("pytest; echo done", "the exit code is echo's"),
        ("pytest; npm run build", "the exit code is npm run's"),
        ("! pytest", "! turns its exit code round"),
        ("pytest &", "it runs in the background"),
        ("if pytest; then :; fi", "it stands in an if, which takes its exit code"),
        ("x=$(pytest)", "$( ) keeps its exit code"),
        ("f() { :; }; pytest", "it defines a function"),
        ("alias x=y; pytest", "alias changes what the shell does"),
        ("pytest --collect-only", "--collect-only checks nothing"),
        ("make -n test", "-n checks nothing"),
        ("npx jest --watch", "--watch watches"),
        ("npm run test:watch", "test:watch watches"),
        ("pytest | tail -3", "the exit code is tail's"),
        ("PATH=x pytest", "it sets PATH"),
        ("pytest $X", "it uses a variable"),
        ("cd x; pytest", "its folder is not known: join cd with &&"),
        ("true || pytest", "it runs only where what stands before || failed"),
        ("exit 0; pytest", "it stands behind an exit"),
        ("npm test --if-present", "--if-present can hide failures"),
    ],
)
def test_the_reason_is_a_sentence(text: str, reason: str) -> None:
    reading = read(text)
    names = ("pytest", "jest", "make", "npm")
    at = next(at for at, one in enumerate(reading.parts) if one.words[0] in names)
    assert reading.outcome(at, 0) == Outcome("unknown", reason)


@pytest.mark.parametrize(
    ("code", "state"),
    [
        *((0, "passed"), (1, "failed"), (2, "failed"), (5, "failed"), (127, "failed")),
        *((124, "unknown"), (130, "unknown"), (137, "unknown"), (143, "unknown")),
        *((None, "unknown"), (-9, "unknown"), (3221225786, "unknown"), (255, "failed")),
    ],
)
def test_a_code_of_an_interruption_is_unknown(code: int | None, state: str) -> None:
    assert read("pytest").outcome(0, code).state == state


def states(text: str, code: int) -> list[str]:
    reading = read(text)
    return [reading.outcome(at, code).state for at in range(len(reading.parts))]


def test_a_chain_passes_each_part_and_fails_its_first() -> None:
    text = "ruff check . && mypy src && pytest"
    assert states(text, 0) == ["passed"] * 3
    assert states(text, 1) == ["failed", "one of", "one of"]
    found = read(text).outcome(2, 1)
    assert found.reason == "failed: one of ruff check ., mypy src, pytest"


def test_a_condition_is_named_whole() -> None:
    assert read("[ -f x ] && pytest").outcome(1, 1).reason == "failed: one of [ -f x ], pytest"


def test_a_part_before_a_filtered_one_is_still_proven() -> None:
    assert states("npm run build && npm test | tail -5", 0) == ["passed", "unknown", "passed"]


def test_of_a_list_the_last_decides() -> None:
    assert states("ruff check .; pytest", 0) == ["unknown", "passed"]
    assert states("set -e\nruff check .\npytest", 0) == ["unknown", "passed"]
    # The code may be that of ruff, which leaves the shell.
    assert states("set -e\nruff check .\npytest", 1) == ["unknown", "one of"]


def test_pipefail_gives_the_pipes_code() -> None:
    text = "set -o pipefail; pytest | tee x.log"
    assert states(text, 0) == ["passed", "passed"]
    assert states(text, 1)[0] == "failed"
    assert read(text).parts[0].filtered_by is None


def test_what_stands_beside_can_be_the_cause() -> None:
    text = "pytest && for i in 1 2; do a; done"
    assert read(text).outcome(0, 1) == Outcome("one of", "failed: pytest, or what stands beside")
    assert read(text).outcome(0, 0) == Outcome("passed")


def test_a_parts_own_code_is_known_where_it_is_alone() -> None:
    assert read("pytest").code_of(0, 5) == 5
    assert read("cd x && pytest").code_of(0, 5) is None
    assert read("ruff check . && pytest").code_of(1, 0) == 0
    assert read("ruff check . && pytest").code_of(1, 1) is None
    assert read("pytest; true").code_of(0, 0) is None


@pytest.mark.parametrize(
    ("text", "filtered"),
    [
        ("pytest 2>&1 | tail -20", "tail"),
        ("pytest |& tail -n 20", "tail"),
        ("pytest | grep -v DEBUG | tail", "tail"),
        ("pytest | tee out.txt | head -50", "head"),
        ("cd x && pytest 2>&1 | cat", "cat"),
        ("(cd x && pytest) | tail -3", "tail"),
        ("pytest | sed -n '1,40p'", "sed"),
        ("pytest | sed 's/failed/passed/'", None),
        ("pytest | sed -n 's/failed/passed/p'", None),
        ("pytest | tr a b", None),
        ("pytest | grep -o '12 passed'", None),
        ("pytest | tail -c 20", None),
        ("pytest | awk '{print}'", None),
        ("pytest | python x.py", None),
        ("pytest | ./tail", None),
        ("pytest | X=1 tail", None),
        ("pytest | tail $N", None),
        ("pytest", None),
        ("pytest && ls | tail", None),
    ],
)
def test_only_filters_that_keep_lines_whole_are_named(text: str, filtered: str | None) -> None:
    one = next(one for one in read(text).parts if one.words[0] == "pytest")
    assert one.filtered_by == filtered


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("cd a && cd b && pytest", "a/b"),
        ("cd a && cd .. && pytest", ""),
        ("cd /x/y && pytest", "/x/y"),
        ("cd ~/x && pytest", "~/x"),
        ('cd "$HOME/x" && pytest', "~/x"),
        ('cd "$PWD/x" && pytest', "x"),
        ("cd a && (cd b && true) && pytest", "a"),
        ("pushd a > /dev/null && pytest", "a"),
        ("cd a || exit 1\npytest", "a"),
        ("set -e; cd a; pytest", "a"),
        ("bash -c 'cd a' && pytest", ""),
        ("cd a | cat && pytest", ""),
        ("env -C a pytest", "a"),
        ("uv --directory a run pytest", "a"),
        ("uv run --directory a pytest", "a"),
    ],
)
def test_the_folder_is_followed(text: str, folder: str) -> None:
    reading = read(text)
    at = next(at for at, one in enumerate(reading.parts) if one.words == ("pytest",))
    assert (reading.parts[at].folder, reading.outcome(at, 0).state) == (folder, "passed")


@pytest.mark.parametrize(
    ("text", "criterion", "is_same"),
    [
        ("pytest -q -vv --tb=short --color=yes --durations 5", "pytest", True),
        ("pytest", "pytest -q", True),
        ("pytest --tb short -rA", "pytest", True),
        ("pytest -qx", "pytest", True),
        ("pytest a", "pytest b", False),
        ("pytest a b", "pytest b a", False),
        ("pytest -k a", "pytest *", True),
        ("pytest", "pytest *", True),
        ("pytest2 a", "pytest *", False),
        ("npm test -- -t x", "npm test *", True),
        ("npm test", "npm test --", True),
        ("pytest tests/unit/test_a.py", "pytest tests/unit/*", False),
        ("X=1 pytest", "X=1 pytest", True),
        ("X=2 pytest", "X=1 pytest", False),
        ("pytest", "X=1 pytest", False),
        ("export X=1 && pytest", "X=1 pytest", True),
        ("./scripts/check.sh -q", "scripts/check.sh -q", True),
        ("./scripts/check.sh", "scripts/check.sh -q", False),
        ("make -j8 test", "make test", False),
        ("go test -v ./...", "go test ./...", True),
    ],
)
def test_a_criterion_is_matched_by_exact_words(text: str, criterion: str, is_same: bool) -> None:
    assert read(text).parts[-1].is_same(read(criterion).parts[-1]) is is_same


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("pytest", False),
        ("pytest && echo ok", False),
        ("pytest > out.log 2>&1", False),
        ("pytest | tee test.log", False),
        ("pytest && ruff check .", False),
        ("pytest && git commit -qm x", True),
        ("pytest > src/a.py", True),
        ("pytest | tee src/a.py", True),
        ("pytest && ruff check --fix .", True),
        ("pytest && sed -i s/a/b/ x.py", True),
        ("pytest && npm run build", True),
        ("pytest && echo x > a.py", True),
        ("pytest && git checkout .", True),
        ("{ pytest; } > a.py", True),
        ("npm run watch & pytest", True),
        ("(sleep 9; cp a b) | pytest", True),
        ("pytest > >(cp a b)", True),
        ("touch a && pytest", False),
        ("pytest && if x; then y; fi > a.py", True),
        ("cat > a.py <<EOF\nx\nEOF\npytest", False),
    ],
)
def test_another_writer_is_seen(text: str, writes: bool) -> None:
    reading = read(text)
    at = next(at for at, one in enumerate(reading.parts) if one.words[0] == "pytest")
    assert reading.writes_after(at) is writes


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("mv t.py /tmp && pytest && mv /tmp/t.py .", "mv"),
        ("echo x > conftest.py && pytest && rm conftest.py", "rm"),
        ("cat > conftest.py <<'EOF'\nx\nEOF\npytest && rm conftest.py", "rm"),
        ("sed -i s/a/b/ x.py && pytest && sed -i s/b/a/ x.py", "sed"),
        ("python -c 'x' && pytest && node undo.js", "node"),
        ("npm pkg set a=b && pytest && npm pkg set a=c", "npm"),
        ("cp x.py /tmp && ./gen && pytest && cp /tmp/x.py .", "cp"),
        ("(cp a b; cp c b) & pytest", "cp"),
        ("rm a.py && pytest && git show HEAD:a.py > a.py", "a redirection"),
        ("bash -c 'cp a b && pytest && cp c b'", "cp"),
        # These undo nothing, or nothing was changed for it
        ("npm ci && pytest && git commit -qm x", ""),
        ("./gen && pytest && git add -A && git commit -qm x && git push", ""),
        ("ruff format . && pytest && ruff check --fix .", ""),
        ("rm -rf dist && pytest && rm -rf build", ""),
        ("pip install -e . && pytest && python a.py", ""),
        ("mkdir -p build && cd build && cmake .. && make && pytest && cp a b", ""),
        ("pytest && cp a b && cp c b", ""),
        ("cp a b && cp c b && pytest > out.json", ""),
        ("./gen > a.py && pytest 2>&1 | tee /tmp/x.log", ""),
        ("make generate && pytest && make clean", ""),
        ("make fake && pytest && make real", "make"),
        ("docker cp a:b . && pytest && rm b", "rm"),
    ],
)
def test_what_may_be_undone_behind_a_check_is_seen(text: str, by: str) -> None:
    reading = read(text)
    at = next(at for at, one in enumerate(reading.parts) if one.words[0] == "pytest")
    assert reading.undoes(at) == (f"{by} may undo what was changed before it" if by else "")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("git stash && pytest; git stash pop", "git stash is in the same command"),
        ("pytest && git checkout main", "git checkout is in the same command"),
        ("git -C x switch y && pytest", "git switch is in the same command"),
        ("git --no-pager reset --hard; pytest", "git reset is in the same command"),
        ("if git reset -q; then pytest; fi", "git reset is in the same command"),
        ("x=$(git stash) pytest", "git stash is in the same command"),
        ("git stash list && git log && pytest", ""),
        ("git commit -qm 'git stash' && pytest", ""),
    ],
)
def test_another_state_of_the_repository_is_seen(text: str, why: str) -> None:
    assert read(text).changes_tree == why


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pytest -q", ("pytest", "-q")),
        (r".\gradlew.bat test", ("gradlew", "test")),
        ("npm.cmd test", ("npm", "test")),
        ("python -m pytest 'a b'", ("pytest", "a b")),
    ],
)
def test_one_simple_command_of_powershell_is_read(text: str, words: tuple[str, ...]) -> None:
    reading = read(text, "powershell")
    assert reading.parts[0].words == words
    assert reading.outcome(0, 0).state == "passed"


@pytest.mark.parametrize(
    "text",
    [
        *("pytest; exit 0", "pytest | tail", "pytest && a", "$x", "pytest $x", "& pytest"),
        *("cd a", "pytest\na", "pytest `a", "pytest (a)", "pytest {a}", 'pytest "$x"', "pytest,a"),
        *("if (pytest) { }", "pytest > a", "pytest @x", "pytest “a”", "", "exit 0", "# pytest"),
    ],
)
def test_more_of_powershell_is_unknown(text: str) -> None:
    reading = read(text, "powershell")
    assert reading.outcome(0, 0).state == "unknown"
    assert reading.outcome(0, 0).reason


def test_another_shell_is_unknown() -> None:
    assert read("pytest", "fish").outcome(0, 0) == Outcome("unknown", "tapui does not read fish")


def test_a_vast_text_is_unknown_at_once() -> None:
    for text in (
        *("pytest;" * 5_000, "(" * 2_000, "$(" * 190 + ")" * 190, "a && " * 120 + "pytest"),
        *("x" * 10_000_000, 'echo "' + '\\"' * 60_000 + " << EOF", "a << b\n" * 30_000),
    ):
        for shell in ("bash", "powershell"):
            reading = read(text, shell)
            assert reading.outcome(len(reading.parts) - 1, 0).state == "unknown"
    assert read("cat > a <<'EOF'\n" + "x = {1}; y\n" * 5_000 + "EOF\npytest").outcome(1, 0) == (
        Outcome("passed")
    )


SIGNS = st.sampled_from(
    """pytest~npm test~make~cd x~ ~ ~&&~||~;~|~&~(~)~{ ~; }~!~
~if ~then ~fi~$(~`~'~"~$X~<<EOF
~EOF
~>~2>&1~set -e~exit 0~true~#~\\~*~X=1 ~bash -c ~time ~--help~\0~é""".split("~")  # noqa: SIM905 - readable
)


@settings(max_examples=400, deadline=None)
@given(st.lists(SIGNS, max_size=14).map("".join), st.one_of(st.none(), st.integers()))
@example("$(" * 100, 0)
@example("cat <<EOF", 0)
@example("<<EOF", 1)
def test_nothing_is_an_error(text: str, code: int | None) -> None:
    for shell in ("bash", "powershell", "zsh"):
        reading = read(text, shell)
        for at in range(-1, len(reading.parts) + 1):
            found = reading.outcome(at, code)
            assert found.state != "passed" or code == 0
            reading.code_of(at, code)
            reading.writes_after(at)


PLAIN = st.sampled_from(
    ["pytest", "pytest -q", "a 1", "cd x", "(pytest)", "{ a; }", "! a", "a > b"]
)
TEXTS = st.recursive(
    PLAIN,
    lambda inner: st.builds(
        lambda one, sign, other: f"{one}{sign}{other}",
        inner,
        st.sampled_from([" && ", " || ", "; ", " | ", "\n", " & "]),
        inner,
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from([" || true", "; true", " | cat", " &"]))
@example("pytest || exit 1", " || true")
@example("pytest || exit 1", "; true")
def test_what_hides_a_code_never_passes(text: str, hides: str) -> None:
    """A pipe and `&&` before it bind otherwise: `a && b | cat` still proves `a`, and only that."""
    count = len(read(text).parts)
    reading = read(text + hides)
    passed = [at for at in range(count) if reading.outcome(at, 0).state == "passed"]
    if hides != " | cat":
        assert passed == []
        return
    assert passed == [] or "&&" in text
    assert all(read(text).outcome(at, 0).state == "passed" for at in passed)


def test_every_check_of_the_tables_is_known_as_one() -> None:
    assert not {words for _, words, _ in COMMON if check(tuple(words.split())) is None}
