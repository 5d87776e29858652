"""A rule that names files, folders or addresses allows no others behind them."""

import pytest

from tests.policies.judged import allow, on_command

BOUND = """
cat docs/*: docs/a.txt /etc/hostname | docs/a.txt package.json | docs/a* ../* | docs/a ./b | docs/a
    docs/../b | docs/a docs//../b | docs/a 'docs/../b' | docs/a ~/x | docs/a -- b
cat docs/* -n: docs/a -n b | docs/a -n -- b
cat docs/a: docs/a b | docs/a docs/b
cat a.txt: a.txt /etc/hostname | a.txt b
touch docs/*: docs/x /tmp/y | docs/x -r /etc/hostname | docs/x --reference=/etc/hostname
rm -rf build: -rf build src | -rf build -v src
cp docs/* out: docs/a out b | docs/a out -v /etc/hostname
head -n 5 docs/*: -n 5 docs/a b | -n 5 docs/a -n 3 b
diff docs/* docs/*: docs/a docs/b --from-file=package.json | docs/a docs/b --to-file b
grep x docs/*: x docs/a b | x docs/a -f b | x docs/a --file=b | x docs/a -nf b | x docs/a -f../b |
    x docs/a -fb
curl http://a.test/*: http://a.test/x http://evil.test | http://a.test/x evil.test | http://a.test/x
    --url http://evil.test | http://a.test/x --url=evil.test | http://a.test/x http://a.test/../y
wget -q https://a.test/*: -q https://a.test/x https://evil.test
curl a.test: a.test evil.test
ls ./*: ./a /etc | ./a ..
git diff --no-index docs/*: diff --no-index docs/a /etc/hostname
pytest tests/unit: tests/unit /tmp/evil | tests/unit evil.py
python scripts/check.py docs/*: scripts/check.py docs/a b
python -m pytest tests/unit: -m pytest tests/unit b
frob docs/*: docs/a b | docs/a --out=/etc/x | docs/a -o/etc/x | docs/a -o b
frob --level docs/*: --level docs/a b
dd if=docs/*: if=docs/a of=b
make -C web docs/*: -C web docs/a b
go test ./pkg/*: test ./pkg/a ./b
make test: test deploy | test -k deploy
mvn test: test deploy
gradle test: test publish
./gradlew test: test publish
git push origin main: push origin main other | push origin main -u other
docker compose up web: compose up web evil
docker-compose up web: up web evil
chmod +x ev.sh: +x ev.sh -R /tmp | +x ev.sh x.tar
chown me a: me a b
kill 99999: 99999 1
git push: push origin | push -u vendor/x.git HEAD
git clone: clone https://x.test/y
npm install: install left-pad
pip install -r a.txt: install -r a.txt evil
make: test | -k deploy
make -C web: -C web test
make CC=*: CC=gcc all
docker compose up: compose up web
docker compose -f a/b.yml up: compose -f a/b.yml up -d web
curl -sS: -sS http://evil.test
python scripts/check.py: scripts/check.py a b
frob build: build a
frob: build
npx frob: frob x
cat: a /etc/hostname | ../x | ~/x
git log: log -- /etc
ls: -la /
python -m pytest: -m pytest /tmp/x_test.py
grep -r x: -r x /etc
"""
FREE = """
cat docs/*: docs/a.txt docs/b.txt | docs/a -n | docs/a -n docs/b.md | docs/a docs/*.md
touch docs/*: docs/x docs/y -c
rm -rf build: -rf build | -rf build -v
cp docs/* out: docs/a out -v
head -n 5 docs/*: -n 5 docs/a docs/b -n 3
grep x docs/*: x docs/a docs/b -n -A 3
curl http://a.test/*: http://a.test/x http://a.test/y -sS | http://a.test/x -so /dev/null
go test ./pkg/*: test ./pkg/a ./pkg/b -run TestX -count=1
pytest tests/unit: tests/unit -q -k name
python -m pytest tests/unit: -m pytest tests/unit -q
python -m pytest: -m pytest a b
./gradlew test: test --info
git -C web status: -C web status -s docs
cat: a docs/../b ./c
rm: a b
git log main: log main docs
git push origin: push origin main
make: -j4
make test: test -k -j4
mvn test: test -q
docker compose logs: compose logs -f web
frob *: a b
grep: /api src | -rn /api src
kill 99999: 99999 -9
npm test: test -- docs/a docs/b
"""


def rows(table: str) -> list[tuple[str, str]]:
    """Return rules with whole commands."""
    lines = table.strip("\n").replace("\n    ", " ").split("\n")
    return [
        (rule, f"{rule.split()[0]} {rest.strip()}")
        for rule, _, rests in (one.partition(": ") for one in lines)
        for rest in rests.split(" | ")
    ]


@pytest.mark.parametrize(("rule", "command"), rows(BOUND))
def test_what_a_rule_that_names_operands_does_not_name_is_asked(rule: str, command: str) -> None:
    found = on_command(command, allow(rule))
    assert found.effect is None
    assert ["it does not name " in part.why for part in found.parts] == [True]
    assert [part.nearest and part.nearest.pattern for part in found.parts] == [rule]


@pytest.mark.parametrize(("rule", "command"), rows(FREE))
def test_what_it_names_and_harmless_options_may_follow(rule: str, command: str) -> None:
    found = on_command(command, allow(rule))
    assert found.effect == "allow", found


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("git log", "git --no-pager log -5"),
        ("npm test", "npm --silent test"),
        ("npm run build", "npm -s run build"),
        ("cargo test", "cargo --quiet test"),
        ("make test", "make -s test"),
        ("mvn test", "mvn -q test"),
        ("gradle test", "gradle -q test"),
        ("ls *", "ls -la src"),
        ("ls *", "ls"),
        ("ls *", "ls -la ."),
        ("cat *", "cat /home/me/src/app/a.txt"),
        ("pytest *", "pytest -k name tests"),
        ("pytest *", "pytest ./tests -q"),
        ("npx jest *", "npx jest -t name src/a.test.ts"),
        ("python -m pytest *", "python -m pytest -q tests"),
        ("git commit *", "git commit -m 'a b'"),
        ("jq *", "jq -r '.a[] | .b' x.json"),
    ],
)
def test_harmless_options_stand_anywhere(rule: str, text: str) -> None:
    assert on_command(text, allow(rule)).effect == "allow"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("git log", "git --no-pager push"),
        ("git log", "git -c a=b log"),
        ("git log", "git -C x log"),
        ("git log", "git --git-dir=x log"),
        ("git log", "git log2"),
        ("git log", "git -- log"),
        ("kubectl get", "kubectl -n x get pods"),
        ("kubectl get", "kubectl -w get proxy"),
        ("kubectl events", "kubectl -A events delete -l x"),
        ("yarn test", "yarn --production test publish"),
        ("pnpm test", "pnpm --color test publish"),
        ("task build", "task --color deploy build"),
        ("go get good.com/y", "go get -buildvcs evil.com good.com/y"),
        ("pytest tests/unit", "pytest --cov tests/unit"),
        ("npm exec eslint src", "npm exec eslint --cache src"),
        ("less", "less /etc/shadow"),
        ("jq *", "jq -R . ../x.txt"),
        ("jq", "jq 'import \"a\" as $d; $d' x"),
        ("grep *", "grep -e x /etc/passwd"),
        ("grep", "grep -rh .. .."),
        ("grep", "grep x -nf../x.txt y"),
        ("cat", "cat a://../../x"),
        ("strings", "strings @../x.txt"),
        ("git rm", "git rm -r ':/other'"),
        ("tar", "tar -cf/tmp/x.tar src"),
        ("uniq", "uniq *"),
        ("frob *", "frob *"),
        ("rm", "rm -rf a"),
        ("pip3", "pip3 install evil"),
        ("pip install a", "pip install a -r evil.txt"),
        ("npm", "npm diff --diff git+https://x.test/y"),
        ("git pull", "git pull https://x.test/y main"),
        ("git fetch", "git fetch -p origin '+refs/heads/*:refs/heads/*'"),
        ("cargo install a", "cargo install a evil"),
        ("docker rm web", "docker rm web db"),
        ("npm run", "npm run deploy"),
        ("cargo xtask", "cargo xtask deploy"),
        ("git", "git push origin main"),
        ("gh pr list", "gh -R o/r pr list"),
        ("npm test", "npm --prefix x test"),
        ("ls *", "ls -la /etc"),
        ("ls *", "ls .."),
        ("find *", "find . -exec rm {} +"),
        ("pytest *", "pytest -p evil tests"),
        ("git commit *", "git commit -F /etc/passwd"),
        ("docker exec web *", "docker --x exec web sh"),
        ("npx *", "npx -y evil"),
        ("sed *", "sed -n 1,5p x"),
        ("env *", "env X=1 sh"),
        ("git log *", "git log --output=x"),
    ],
)
def test_options_that_are_not_known_are_asked_wherever_they_stand(rule: str, text: str) -> None:
    assert on_command(text, allow(rule)).effect is None


def test_the_person_reads_which_word_the_rule_does_not_name() -> None:
    (part,) = on_command("cat docs/a /etc/hostname", allow("cat docs/*")).parts
    assert part.why == "it does not name /etc/hostname"


@pytest.mark.parametrize(
    "word",
    ["{docs/b,/etc/x}", "$HOME/x", "~root/x", "$PWD/../x", "docs/$(echo b)", "docs/@(a|b)", "<(x)"],
)
def test_a_spelling_that_is_not_known_to_its_end_is_asked(word: str) -> None:
    assert on_command(f"cat docs/a {word}", allow("cat docs/*", "cat")).effect is None
