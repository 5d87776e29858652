"""An option that is not known to be harmless is asked, however it is written."""

import itertools

import pytest

from tapui.policies.options import KnownVerb, entry_of, known_programs
from tests.policies.judged import allow, on_command

PLAIN = """
git status: -sb | --short --branch | --porcelain=v2 -uno | -- src
git log: --oneline -n 5 | -5 | --oneline -n5 --graph --all | -p -- src/a.py | --since='2 days
    ago' | --format=%H --author=me HEAD~3.. | -S foo --stat | -L 1,5:a.py | --pretty=oneline
    --follow -- x
git diff: --stat | HEAD~1 -- src | --cached --name-only | -U3 main...HEAD | -w --word-diff
git show: HEAD --stat | HEAD:README.md | --name-only abc
git fetch: origin main | --prune --all | -p --tags | --depth 1 origin | -q
git pull: --rebase | --ff-only origin main
git push: --dry-run | --tags
git push origin: HEAD:main | main | feature/x -u
git commit: -m 'a message' | -am 'x' | --amend --no-edit | -m x --all
git branch: -a | -vv | --show-current | feature/x
git add: . | -A | src/a.py b.py | -u
git stash: list | show -p | pop | -u
git grep: -n foo | -i -e foo -- src
git: status | log --oneline | --no-pager log -3 | diff | blame -L 1,5 a.py | rev-parse HEAD |
    rev-parse --abbrev-ref HEAD | ls-files -m | remote -v | stash list | branch -a
npm: ci | test | view left-pad | ls --depth=0 | outdated | --version
npm ci: --silent | --no-audit --no-fund
npm test: -- --runInBand | -- src/a.test.ts -t name | --silent | --workspace=web | -- --coverage
npm run build: --silent | -- --watch
npm install: --no-audit
npm install left-pad: --save-dev
pnpm test: --run | --filter @acme/gateway | -- --runInBand | src/a.test.ts
pnpm: test | ls | why left-pad
yarn test: --watch=false | src
make: -j4 | -k | -n
make test: -j4 | -k | -s | -B
tar: -xzf a.tgz | xzf a.tgz | tf a.tar | -czf out.tgz dir | -tvf a.tar | --list -f a.tar
zip: -r out.zip dir | -rq out.zip dir
unzip: -l a.zip | a.zip | -q a.zip
sort: -u | -k2 -n a.txt | -t, -k1,1 | -rn | -t : -k 3
find: . -name '*.py' | . -type f -newer x | src -maxdepth 2 -not -path '*/x/*' -print0
grep: -rn foo . | -E 'a|b' x | -A3 -B 3 foo x | --include='*.py' -r foo | -v '^#' | -c foo x
rg: -n foo src | -i foo -g '*.py' | --files | -tpy foo | -A 3 foo | -uu foo
ls: -la | -lah src | --color=auto | -1 *.py | -R
cat: a b | -n a
head: -20 a | -n 5 a | -c 100 a | -n -5 a
tail: -f a | -n +3 a | -100 a
wc: -l a b
diff: -u a b | -r a b | --color a b | -U5 a b
jq: .env x | .a.env x | '.environment' x | -r .name package.json | '.a[] | .b' x | -n 1 | -c .
curl https://x.test/*: https://x.test/a -sS | https://x.test/ -fsSL | https://x.test/ -I |
    https://x.test/ -so /dev/null -w '%{http_code}'
wget https://x.test/a: -q | -qO- | --spider
rsync a b: -avz | -n
cargo test: -p x | --workspace | -- --nocapture | foo -- --test-threads=1 | --release --lib
cargo: build --release | check | clippy -- -D warnings | fmt --check | fmt -- --check | tree
go test: ./... | -v -run TestX ./pkg | -count=1 -race ./... | -short -timeout 30s ./...
go: build ./... | vet ./... | list -m all | mod tidy | fmt ./... | env GOPATH | version
gcc: -Wall -O2 -c a.c | -std=c11 -Iinclude -DX=1 -c a.c | -Wno-unused a.c -lm | --version
pytest: -q -x tests/foo.py | -k name -vv | tests/a.py::test_x | --lf | -n 2 | -xvs | --tb=short
    | -m 'not slow' | -p no:cacheprovider | --cov=src --cov-report=term-missing | --maxfail=1
python -m pytest: -q -x tests/foo.py | -k name
python -m unittest: -v tests.test_x | discover -s tests
python3 -m pip list: --outdated
pip: list | show requests | --version | freeze
pip install -r requirements.txt: --no-deps
pip install requests: -U
uv: sync | lock | tree | pip list
uv run pytest: -q -x tests/foo.py
uv run ruff check: src --no-cache
poetry: install | show --tree
ruff check: . | --diff src | --select E,F .
ruff check --fix: src
mypy: src | --strict a.py
npx prettier: --check .
npx prettier --write: src
npx tsc: --noEmit | -p tsconfig.json --noEmit
npx eslint: . | --ext .ts src
npx eslint --fix: src
npx jest: src/a.test.ts --coverage | -t name
docker: ps -a | images | logs -f --tail 50 web | inspect x | compose ps | compose logs -f web
docker compose: ps | logs --tail=5 web
docker compose up: -d | -d --build
kubectl: get pods -n x -o wide | describe pod x | logs -f x --tail=5 | get svc -A | get pod x -o
    jsonpath='{.a}'
kubectl get: pods | pods -l app=x -w
gh: pr list | pr view 5 --json title | run list -L 3 | issue list --state open | run view 5
    --log-failed
gh pr: list --limit 5 | view 12 --comments | diff 12 | checks
mvn test: -q | -B -DskipTests | -Dtest=Foo | -pl web -am
./gradlew test: --info | -x lint | --tests Foo
tox: -e py311 | -e lint
nox: -s tests | -s tests -- -q -x
cp: -r a b | a b
rm: build/out.o
rm -rf build: -v
mkdir: -p a/b
ls: *.py src/[ab].ts
cat: *.md
test: -f x | -n x | a = b | -d src -a -r src
kill 123: -9
date: +%s | -u +%F | -d yesterday
ps: aux | -ef | -o pid,cmd
"""
ASKED = """
ruff check: --fix src
npx eslint: src --fix
npx prettier: --write src
npx jest: -u | --updateSnapshot
kubectl get pods: --context prod-eu
npm test: -- --filter=./docs/evil.js | -- --project /tmp/t.json | -- --changedSince=--output=/x
jest: --filter ./e.js | --filter=./e.js | --changedSince=--output=/x
yarn test: --filter=./e.js
pnpm test: -- --filter=./e.js
yq: -s '"src/auth.py"' d.yml
tsc: -p /elsewhere/tsconfig.json | --project=/elsewhere/tsconfig.json
cmake: --graphviz=/x/y . | --graphviz=y .
lz4: a b
apt-get update: -o APT::Update::Pre-Invoke::=x
prove: -e x t | t
rspec: -r ./e.rb
git: --git-dir=/x status | -C /tmp status | -c a=b status | --exec-path=/x status | frobnicate |
    clone x | config a b | bisect run x | submodule foreach x | remote add a b | --paginate log
    | help status
git clone: -u x y | --config core.x=y z | --template=/x y | -c a=b y | ext::sh | foo::bar
git fetch: ext::sh | foo::x y | --upload-pack x y | -u | --multiple --exec=x
git push: ../x | /tmp/x main | origin +main | origin :main | --force | -f | -o x | --no-verify
git push: host:path main | https://x.test/y main | me@x:y main | ssh://x/y
git fetch: ssh://-ox/y
git rebase: -x node | --exec node main | -i | -s evil | --strategy=evil
git merge: -s evil x
git grep: -O x | -Onode x | -nOnode x
git branch: -D x | -d x | -m a b
git status: --help=x | --bran | -x
git stash: drop | clear | frob
git log: --outp=x | --output x | --ext-diff | -Ox | -- -x
npm: exec x | run build | install x | publish | frob | -c x | --prefix=/x test | config set a b
npm test: --script-sh=x | --script-shell x | --node-opt=x | -ws | --userconfig=x | --pre=x | -g
    | -C x | -- --runner=x | -- --config x | -- -c x | -- -r x | --runner=x | -- --req=x | --
    --runner x
pnpm test: --runner=x | -r x | --config=x | -C x | -- --config x | --dir x
yarn test: --cwd x | --runner x
make: -t x | -kt x | --touch x
make: SHELL=x | CC=x | CC:=x | CC+=x | .SHELLFLAGS=x | CC?=x | -f x | -fx | -kf x | -C x | -Cx |
    -I x | -E x | --eval=x | --ev=x | --dir=x | --directory x | -e | --file x | --mak=x | all
    A::=x | 'A!=x'
tar: xIf x a | -xIx -f a | --to-com=x | --to-command x | --use-c=x | -I x | xf host:a | -x -f
    h:a | --checkpoint-action=exec=x | --checkpoint-act=exec=x | -F x | --rsh=x | -C /x -xf a |
    -T x | cIf x y | xzfC a / | -xzfa -P | --index-file=x
zip: -T x | -rT a b | --unz=x a b | -TT x a b | -rTT x a b | --unzip-command x a b | -rlf a b
sort: -o x y | -uo/x y | -ox | --outp=x y | --comp=x | --compress-program x y | -T / x | -ruo x
    y
uniq: a b | -c a b | -- a b
xxd: a b
find: . -exec x | . -delete | . -fprint x | . -okdir x | . -files0-from x | -D exec x | *
fd: -x y | -HX y | --exec=x | --exe x | -l
rg: --pre x | --pre=x y | --hostname-bin=x | -z x | --search-z | -nz x
rsync: -e x a b | --rs=x a b | -ave x a b | --rsync-p=x a b | -M--x a b | --daemon | -aex a b
curl: -o x y | -so x y | -O y | --out=x y | --output x | -K x | -T x y | -w '%output{x}' y | -c
    x y | -d @x y
curl: gopher://x/_y | telnet://x | '{http,gopher}://x' | --url gopher://x
dd if=a: of=b
npm init: evil
npm create: evil
npm: init evil | explore x -- y
pnpm create: evil
yarn create: evil
dotnet test: -- RunConfiguration.TestAdaptersPaths=x
deno test: -A x | --allow-run x | --import-map=x
hyperfine: x
wget: -O x y | -qO x y | --exec=x | -e x | --use-ask=x | -P / x | -i x | --output-d=x y |
    --post-file=x y
cargo: +nightly test | frob | run | --config x test | install x
cargo test: --config x | --manifest-path x | --manifest-p=x | --manifest-path=x | -Z x |
    --target-dir x | -- --logfile x
go test: -exec x | --exec x | -exec=x | --exec=x | -toolexec x | -vettool=x | --vettool=x | -o x
    | -ldflags x | -args -x | -coverprofile=x | -test.cpuprofile=x | --toolexec=x | -C / |
    -profile=x
go: run x | generate | tool x | env -w A=b | install x@y
gcc: -wrapper x a.c | --wrapper a | -fplugin=x a.c | -specs=x a.c | @x | -Bx a.c | -B x | -Wl,-x
    a.c | -o x a.c | -Xlinker x | --specs=x
pytest: -o addopts=x | -oaddopts=x | --override-ini=x | --override-i=x | -c x | -p x | -px | -xo
    a=b | @x | --rootdir=/x | --rootd=/x | --basetemp=x | --junitxml=x | --junit=x | --pdbcls=x
    | -W error::x | --cov-report=html:x | --cov-report html:x | --confcut=x | -qc x
python -m pytest: -o addopts=x | -p x | --override=x
uv run pytest: -o addopts=x
npx prettier: --plugin=x a | --plug=x a | --config x a
npx eslint: -c x a | --rulesdir x a | -o x a | -f ./x a
npx jest: --runner=x | --config x | -c x | --globalSetup=x
pip install: -i x y | --index-u=x y | --target=x y | -t x y | --extra-index-url x y
docker: -H x ps | run x | exec x y | build . | --context=x ps | --host=x ps | frob | compose up
docker compose: -f x ps | up | exec a b | --file=x ps | --env-file x ps
kubectl: --kubeconfig=x get pods | exec x -- y | get -f x | apply -f x | --kubec=x get pods |
    delete pod x
gh: pr checkout 5 | extension exec x | frob | alias set a b | pr view -w | api x | pr view --web
mvn: exec:exec | -Dexec.executable=x test | -f x test | -s x test | org.x:y:1:z | --file=x test
./gradlew: -I x test | --init-script=x | -b x | -p x | --init-s x | -Px=y test | -Dx=y test
tox: -c x | -x testenv.commands=x | --override=x | -e lint -- -o addopts=x | --conf x
nox: -f x | --noxfile=x | -s t -- -o addopts=x
test: -v 'a[$(x)]' | -R x | 'a[1]' -eq 1 | -f 'a[$(id)]' | -o -v 'a[0]'
wait: -p 'a[$(x)]' | 'a[$(x)]'
jobs: -x y
printf: -v 'a[$(x)]' y
read: 'a[$(x)]'
unset: 'a[$(x)]'
declare: 'a[$(x)]=1'
let: 'a[$(x)]'
compgen: -C x
dc: -e '!x'
less: +!x a | -o x a | --log-file=x a | --log-f=x a
date: -s x | 010100002026
jq: -n env | -n $ENV.A | env.A x | '[env]'
yq: env(A) x | strenv(A) x | 'load("x")' x
gh pr list: --jq env | -q '.[]|env' | --jq=env.A --json x | -q [env]
tree: -R -o x | -o x
bat: --pager=x a | --pag=x a
iconv: -o x y | --outp=x y
split: --filter=x y | --fil=x y
install: --strip-program=x -s a b | -D a b
cp: --target-directory=/x a | --targ=/x a | -t /x a | -rt /x a
sort: *
tar: -xf a.tar * | -xf a ''*
"""


def spelt(table: str) -> list[tuple[str, str]]:
    """Return rules with what follows their words."""
    lines = table.strip("\n").replace("\n    ", " ").split("\n")
    return [
        (rule, rest.strip())
        for rule, _, rests in (one.partition(": ") for one in lines)
        for rest in rests.split(" | ")
        if rest.strip() != ".b'"
    ]


def by_rule(table: str) -> dict[str, list[str]]:
    """Return what follows the words of each rule."""
    found: dict[str, list[str]] = {}
    for rule, rest in spelt(table):
        found.setdefault(rule, []).append(rest)
    return found


@pytest.mark.parametrize(
    ("rule", "rests"), by_rule(PLAIN.replace("'.a[] | .b'", "'.a[].b'")).items()
)
def test_plain_use_of_a_program_passes(rule: str, rests: list[str]) -> None:
    for rest in rests:
        found = on_command(f"{rule} {rest}", allow(rule))
        assert found.effect == "allow", (rest, found)


@pytest.mark.parametrize(("rule", "rests"), by_rule(ASKED).items())
def test_what_may_run_or_write_something_else_is_asked(rule: str, rests: list[str]) -> None:
    for rest in rests:
        found = on_command(f"{rule} {rest}", allow(rule))
        assert found.effect is None, (rest, found)
        assert found.why or any(part.why for part in found.parts), rest


# Every option that is known to do more, in every spelling


def risky() -> list[tuple[str, str]]:
    """Return the rules of all programs and verbs, each with an option that is never harmless."""
    found: list[tuple[str, str]] = []

    def walk(entry: KnownVerb) -> None:
        for name, option in entry.options.items():
            if not option.is_harmless:
                found.append((entry.name, name))
        for verb in entry.verbs.values():
            walk(verb)

    for program in known_programs():
        entry = entry_of(program)
        assert entry is not None
        walk(entry)
    return found


def test_no_spelling_of_a_risky_option_is_allowed() -> None:
    """All of them once a program; where several of its verbs have the option, one each."""
    pairs = risky()
    assert len(pairs) > 2_000
    spelt_out: set[tuple[str, str]] = set()
    for number, (rule, option) in enumerate(pairs):
        entry = entry_of(rule.split()[0])
        for verb in rule.split()[1:]:
            assert entry is not None
            entry = entry.verbs[verb]
        assert entry is not None
        rules = allow(rule)
        spellings = [
            option,
            f"{option}=x",
            f"{option} x",
            f"{option}x",
            f"-{option}",
            f"-{option}=x",
        ]
        at = (rule.split()[0], option)
        if at in spelt_out:  # another verb of the program has it, too
            spellings = [spellings[number % 3]]
        elif option.startswith("--"):
            spellings += [
                option[:size] + ("=x" if size % 2 else "")
                for size in range(3, len(option))
                if option[:size] not in entry.options
            ]
        elif len(option) == 2:
            harmless = [
                one[1]
                for one, known in entry.options.items()
                if len(one) == 2 and known.is_harmless and not known.joined
            ]
            rests = itertools.cycle(("", "x", " x"))
            spellings += [f"-{one}{option[1]}{next(rests)}" for one in harmless[:9]]
        spelt_out.add(at)
        for text in spellings:
            if text.split("=")[0] in ("--help", "--version"):
                continue
            word = text.split(" ", maxsplit=1)[0].split("=")[0]
            known = entry.option(word)
            if known is not None and known.is_harmless:
                continue
            found = on_command(f"{rule} {text} y", rules)
            assert found.effect is None, f"{rule} {text}"


def test_a_rule_that_spells_an_option_out_names_it() -> None:
    for rule, rest in (
        ("git -C /x", "status"),
        ("git -C /x status", "-s"),
        ("git fetch --upload-pack=x", "origin"),
        ("git fetch --upload-pack x", "origin"),
        ("make -C web test", "-j4"),
        ("make -Cweb test", ""),
        ("make CC=* all", ""),
        ("make CC=clang all", ""),
        ("tar -xzf a.tgz -C out", "--strip-components=1"),
        ("docker compose -f a.yml up", "-d"),
        ("git clone https://x.test/*", ""),
        ("cargo test --manifest-path web/Cargo.toml", "-q"),
        ("frob --x --y z", ""),
        ("git frob x", ""),
        ("git config user.name", ""),
    ):
        command = f"{rule.replace('*', 'gcc')} {rest}"
        assert on_command(command, allow(rule)).effect == "allow", command


def test_a_rule_names_no_more_than_its_words() -> None:
    for rule, command in (
        ("git -C", "git -C status foo"),
        ("git -C", "git -C /x status"),
        ("git -C /x", "git -C /x submodule foreach y"),
        ("git -C /x", "git -C /x -c a=b status"),
        ("git fetch --upload-pack", "git fetch --upload-pack evil"),
        ("git fetch --frob", "git fetch --frob evil"),
        ("git frob", "git frob -x"),
        ("tar -x*", "tar -xIx"),
        ("tar x*", "tar xIf x a"),
        ("git *", "git clone"),
        ("git * x", "git clone x"),
        ("npm *", "npm exec"),
        ("make *", "make A=b"),
        ("make -*", "make -Cx"),
        ("git log -*", "git log -Ox"),
        ("git log *", "git log --output=x"),
        ("go test -e*", "go test -exec"),
        ("make -C", "make -C evil"),
        ("npm exec prettier", "npm exec prettier --call=x"),
        ("yarn exec prettier", "yarn exec prettier --cwd=x"),
        ("mise exec", "mise exec node"),
    ):
        assert on_command(command, allow(rule)).effect is None, command
