"""Harmless options of git."""

TABLE = """
@git.some       -q --quiet -v --verbose --progress --no-progress
@git.log        --oneline -n: -# --max-count: --skip: --since: --after: --until: --before:
                --author: --committer: --grep: -i --regexp-ignore-case -E --extended-regexp -F
                --fixed-strings -P --perl-regexp --all-match --invert-grep --merges --no-merges
                --first-parent --all --branches? --tags? --remotes? --glob: --exclude: --graph
                --no-graph --decorate? --no-decorate --pretty? --format: --abbrev-commit
                --no-abbrev-commit --abbrev? --date: --relative-date --reverse --date-order
                --topo-order --author-date-order --follow --left-right --cherry --cherry-pick
                --cherry-mark --left-only --right-only --boundary --not --reflog -g
                --walk-reflogs --full-history --simplify-merges --ancestry-path? -L: --children
                --parents --source --mailmap --no-mailmap --use-mailmap --notes? --no-notes
                --clear-decorations --decorate-refs: --decorate-refs-exclude: --log-size --count
                --no-walk? --min-parents: --max-parents: --no-expand-tabs --dense --sparse
@git.diff       -p -u --patch -s --no-patch -U: --unified: --raw --patch-with-raw --stat?
                --numstat --shortstat --dirstat? --summary --patch-with-stat -z --name-only
                --name-status --color? --no-color --color-moved? --no-color-moved --color-words?
                --word-diff? --word-diff-regex: --no-renames --rename-empty --check --full-index
                --binary --abbrev? -M? --find-renames? -C? --find-copies? --find-copies-harder
                -B? --break-rewrites? -D --irreversible-delete -l: -S: -G: --pickaxe-all
                --pickaxe-regex --find-object: --diff-filter: -R --relative? --no-relative -a
                --text --ignore-cr-at-eol --ignore-space-at-eol -b --ignore-space-change -w
                --ignore-all-space --ignore-blank-lines -I: --inter-hunk-context: -W
                --function-context --exit-code --quiet --no-ext-diff --no-textconv
                --ignore-submodules? --submodule? --src-prefix: --dst-prefix: --no-prefix
                --minimal --patience --histogram --diff-algorithm: --indent-heuristic
                --no-indent-heuristic --compact-summary --cumulative --cc -c -m
                --combined-all-paths --diff-merges: --no-diff-merges --remerge-diff -t -r
                --rotate-to: --skip-to: --ita-invisible-in-index --line-prefix: !-O: !--output:
                !--output-indicator-new: !--ext-diff !--textconv
git             --no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects
                --no-lazy-fetch !--help !-p !--paginate !-C: !-c: !--git-dir: !--work-tree:
                !--exec-path: !--namespace: !--super-prefix: !--config-env: !--attr-source:
                !--list-cmds: !--html-path !--man-path !--info-path !--bare
git status      -s --short -b --branch --show-stash --porcelain? --long -v --verbose -u?
                --untracked-files? --ignored? --ignore-submodules? -z --column? --no-column
                --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?
git log         @git.log @git.diff
git show        @git.log @git.diff --show-signature
git whatchanged @git.log @git.diff
git shortlog    @git.log -s --summary -n --numbered -e --email --group: -c -w?
git reflog      @git.log @git.diff
git reflog show @git.log @git.diff
git reflog exists
!git reflog expire
!git reflog delete
git diff        @git.diff --cached --staged --merge-base -# --base --ours --theirs -0
                !--no-index
git range-diff  @git.diff --creation-factor: --no-dual-color --left-only --right-only
git diff-tree   @git.diff --root --stdin --no-commit-id --pretty? --format: -v
git diff-index  @git.diff --cached --merge-base
git diff-files  @git.diff
git blame       -L: -l -t -s -e --show-email -w -M? -C? --date: --since: --porcelain -p
                --line-porcelain --incremental --root --reverse: --first-parent -f --show-name
                -n --show-number --abbrev: --color-lines --color-by-age --ignore-rev:
                !--contents: !--ignore-revs-file: !-S:
git annotate    -L: -l -t -w --date:
git grep        -n --line-number -i --ignore-case -w --word-regexp -v --invert-match -h -H -l
                --files-with-matches --name-only -L --files-without-match -c --count -e: -E
                --extended-regexp -G --basic-regexp -P --perl-regexp -F --fixed-strings -a
                --text -I --cached --untracked --no-index --recurse-submodules -z --null -o
                --only-matching --column --color? --no-color --heading --break -p
                --show-function -W --function-context -A: -B: -C: --after-context:
                --before-context: --context: -# --and --or --not --all-match -q --quiet
                --max-depth: -r --recursive --no-recursive -m: --max-count: --full-name
                --exclude-standard --no-exclude-standard --no-textconv --threads: !-O?
                !--open-files-in-pager? !-f: !--textconv !--ext-grep
git ls-files    -c --cached -d --deleted -m --modified -o --others -i --ignored -s --stage -u
                --unmerged -k --killed -t -v -f -z --directory --no-empty-directory -x:
                --exclude: --exclude-standard --full-name --abbrev? --debug --eol --deduplicate
                --format: --error-unmatch --with-tree: --recurse-submodules !-X:
                !--exclude-from: !--exclude-per-directory:
git ls-tree     -d -r -t -l --long -z --name-only --name-status --object-only --full-name
                --full-tree --abbrev? --format:
git ls-remote   -h --heads -b --branches -t --tags --refs -q --quiet --exit-code --get-url
                --sort: --symref !--upload-pack: !--exec: !-o: !--server-option:
git rev-parse   --abbrev-ref? --short? --show-toplevel --git-dir --absolute-git-dir
                --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository
                --is-shallow-repository --show-prefix --show-cdup --verify -q --quiet --symbolic
                --symbolic-full-name --all --branches? --tags? --remotes? --show-object-format
                --git-path: --local-env-vars --path-format:absolute|relative --show-ref-format
                --show-superproject-working-tree
git rev-list    @git.log --objects --count --disk-usage --timestamp --header --stdin --missing:
git describe    --all --tags --contains --abbrev? --candidates: --exact-match --debug --long
                --match: --exclude: --always --first-parent --dirty? --broken?
git name-rev    --tags --refs: --exclude: --all --name-only --no-undefined --always
git merge-base  -a --all --octopus --independent --is-ancestor --fork-point
git cat-file    -t -s -e -p --batch-all-objects --batch-check? --batch? --unordered --buffer
                --follow-symlinks --allow-unknown-type !--filters !--textconv !--path:
git show-ref    --head --heads --branches --tags -d --dereference -s --hash? --verify -q --quiet
                --exists --abbrev?
git show-branch -r --remotes -a --all --current --topo-order --date-order --sparse --more:
                --list --sha1-name --no-name --no-color --color?
git for-each-ref --count: --sort: --format: --color? --shell --points-at: --merged? --no-merged?
                --contains? --no-contains? --ignore-case --include-root-refs
git count-objects -v --verbose -H --human-readable
git check-ignore -q --quiet -v --verbose -n --non-matching --no-index -z --stdin
git check-attr  -a --all --cached -z --source:
git verify-commit -v --verbose --raw
git var
git version     --build-options
git branch      -a --all -r --remotes -l --list -v --verbose -vv -q --quiet --show-current
                --contains: --no-contains: --merged: --no-merged: --points-at: --sort: --format:
                --color? --no-color --column? --no-column --abbrev? --no-abbrev -i --ignore-case
                --track? --no-track -t !-u: !--set-upstream-to:
git tag         -l --list -n? --sort: --format: --contains: --no-contains: --merged:
                --no-merged: --points-at: --color? --column? --no-column -i --ignore-case -a
                --annotate -m: --message: !-u: !--local-user: !-F: !--file:
git add         -v --verbose -n --dry-run -A --all -u --update -N --intent-to-add --refresh
                --ignore-errors --ignore-missing --chmod:+x|-x --renormalize --no-all
                !--pathspec-from-file:
git commit      -m: --message: -a --all -q --quiet -v --verbose -s --signoff --no-signoff
                --amend --no-edit --allow-empty --dry-run --short --porcelain --long --branch
                --author: --date: --fixup: --squash: -i --include -o --only --no-gpg-sign
                --no-status --status --trailer: --reset-author -z --untracked-files?
                --no-post-rewrite !-t: !--template: !-F: !--file: !-C: !-c: !--reuse-message:
                !--reedit-message: !--pathspec-from-file: !--cleanup: !-e !-n !--no-verify !-S?
                !--gpg-sign?
git restore     --staged -S --worktree -W -s: --source: -q --quiet --ours --theirs
git reset       -q --quiet --soft --mixed --keep -N --intent-to-add --no-refresh !--hard
                !--merge !--pathspec-from-file:
git checkout    -q --quiet -b: --track? -t --no-track --detach --progress --no-progress --ours
                --theirs --guess --no-guess --no-overlay --overlay !-B: !--orphan: !--conflict:
                !--pathspec-from-file: !-f !--force !-m
git switch      -q --quiet -c: --create: --detach -d --track? -t --no-track --guess --no-guess
                --progress --no-progress !-C: !--force-create: !--orphan: !--conflict:
git fetch       @git.some -a --append --all --no-all --atomic --depth: --deepen:
                --shallow-since: --shallow-exclude: --unshallow --update-shallow --dry-run -k
                --keep --multiple --no-multiple --auto-gc --no-auto-gc --auto-maintenance
                --no-auto-maintenance --write-commit-graph --no-write-commit-graph -p --prune -P
                --prune-tags -n --no-tags -t --tags --refetch -j: --jobs:
                --no-recurse-submodules --recurse-submodules? --set-upstream
                --no-write-fetch-head --write-fetch-head --prefetch --show-forced-updates
                --no-show-forced-updates -4 --ipv4 -6 --ipv6 --porcelain --filter:
                --negotiation-tip: --negotiate-only --stdin !--upload-pack: !-o:
                !--server-option: !--refmap: !--submodule-prefix: !--recurse-submodules-default:
                !-f !--force !-u !--update-head-ok
git pull        @git.some --ff-only --ff --no-ff --rebase?true|false|merges --no-rebase -r --all
                -p --prune -t --tags --no-tags --depth: --autostash --no-autostash --stat -n
                --no-stat --squash --no-squash --commit --no-commit --edit --no-edit --unshallow
                --dry-run --allow-unrelated-histories -4 --ipv4 -6 --ipv6 -j: --jobs:
                --no-verify-signatures -s:ort|recursive|resolve|octopus|ours|subtree
                --strategy:ort|recursive|resolve|octopus|ours|subtree -X: --strategy-option:
                !--upload-pack: !-o: !--server-option: !--refmap: !-S? !--gpg-sign? !-f !--force
git push        @git.some -u --set-upstream --tags --follow-tags --no-follow-tags --all
                --branches -n --dry-run --porcelain --atomic --no-atomic --thin --no-thin
                --no-signed -4 --ipv4 -6 --ipv6 --no-recurse-submodules
                --recurse-submodules:no|check|on-demand|only !--receive-pack: !--exec: !--repo:
                !-o: !--push-option: !-f !--force !--force-with-lease? !--force-if-includes !-d
                !--delete !--mirror !--prune !--no-verify !--signed?
!git clone      @git.some --depth: -b: --branch: --single-branch --no-single-branch --no-tags -n
                --no-checkout --recurse-submodules? --recursive --shallow-submodules -j: --jobs:
                --filter: --shallow-since: --bare --mirror -o: --origin: --sparse -s --shared -l
                --local --no-local --no-hardlinks !-u: !--upload-pack: !--template: !-c:
                !--config: !--separate-git-dir: !--reference: !--reference-if-able:
                !--server-option: !--bundle-uri:
!git init       -q --quiet --bare -b: --initial-branch: --object-format: !--template:
                !--separate-git-dir: !--shared?
git merge       @git.some --ff --no-ff --ff-only --commit --no-commit --no-edit --stat -n
                --no-stat --squash --no-squash --log? --no-log --abort --quit --continue -m:
                --message: --autostash --no-autostash --allow-unrelated-histories --signoff
                --no-signoff --overwrite-ignore --no-overwrite-ignore --no-gpg-sign
                --verify-signatures -s:ort|recursive|resolve|octopus|ours|subtree
                --strategy:ort|recursive|resolve|octopus|ours|subtree -X: --strategy-option:
                !-F: !--file: !--into-name: !--cleanup: !-S? !--gpg-sign? !--no-verify !-e
                !--edit
git rebase      @git.some --onto: --continue --abort --skip --quit --show-current-patch
                --autosquash --no-autosquash --autostash --no-autostash --stat -n --no-stat --ff
                --no-ff --force-rebase --keep-base --root --fork-point --no-fork-point -m
                --merge --rebase-merges? --no-rebase-merges --update-refs --no-update-refs
                --signoff --committer-date-is-author-date --reset-author-date
                --ignore-whitespace --apply --empty:drop|keep|stop --keep-empty --no-keep-empty
                --no-gpg-sign -s:ort|recursive|resolve|octopus|ours|subtree
                --strategy:ort|recursive|resolve|octopus|ours|subtree -X: --strategy-option:
                !-x: !--exec: !--whitespace: !-C: !-i !--interactive !-S? !--gpg-sign?
                !--no-verify
git cherry-pick -x -n --no-commit -s --signoff --ff --continue --abort --skip --quit -m:
                --mainline: --allow-empty --allow-empty-message --keep-redundant-commits
                --strategy:ort|recursive|resolve|octopus|ours|subtree -X: --strategy-option:
                !-S? !--gpg-sign? !-e !--edit !--cleanup:
git revert      -n --no-commit --no-edit -s --signoff --continue --abort --skip --quit -m:
                --mainline: --strategy:ort|recursive|resolve|octopus|ours|subtree -X:
                --strategy-option: !-S? !--gpg-sign? !-e !--edit !--cleanup:
git cherry      -v --abbrev?
git stash       -q --quiet -u --include-untracked -k --keep-index --no-keep-index -S --staged -a
                --all -m: --message:
git stash list  @git.log @git.diff
git stash show  @git.diff -u --include-untracked --only-untracked
git stash push  -q --quiet -u --include-untracked -k --keep-index --no-keep-index -S --staged -a
                --all -m: --message: !--pathspec-from-file:
git stash pop   -q --quiet --index
git stash apply -q --quiet --index
!git stash drop -q --quiet
!git stash clear
!git stash branch
git remote      -v --verbose
git remote show -n
git remote get-url --push --all
!git remote add -t: -m: --tags --no-tags --mirror? !-f
!git remote remove
!git remote rm
!git remote rename
!git remote set-url
!git remote prune -n --dry-run
!git remote update -p --prune
git worktree list -v --verbose --porcelain -z
!git worktree add -b: -d --detach --no-checkout -q --quiet --lock
!git worktree remove
!git worktree prune -n --dry-run -v --verbose
git submodule status --cached --recursive
git submodule summary --cached --files -n: --summary-limit:
!git submodule init
!git submodule update --init --recursive --depth: -j: --jobs: --remote --no-fetch -q --quiet
!git submodule sync --recursive -q --quiet
!git submodule add -b: --name: --depth:
!git submodule foreach
git bisect start --no-checkout --first-parent
git bisect bad
git bisect good
git bisect new
git bisect old
git bisect skip
git bisect reset
git bisect log
!git bisect run
!git bisect replay
!git bisect view
!git bisect visualize
git notes list
git notes show
git sparse-checkout list
git lfs ls-files -l --long -s --size -a --all -n --name-only
git lfs status  -p --porcelain -j --json
git lfs env
git lfs version
!git lfs fetch
!git lfs pull
git mv          -v --verbose -n --dry-run -k
git rm          -n --dry-run --cached -r -q --quiet --ignore-unmatch !-f !--force
                !--pathspec-from-file:
git clean       -n --dry-run -d -e: --exclude: -q --quiet !-f !--force !-x !-X !-i
git apply       --check --stat --numstat --summary -v --verbose -q --quiet -p: -3 --3way -R
                --reverse --cached --index --recount --ignore-whitespace --reject !--directory:
                !--unsafe-paths !--build-fake-ancestor: !--include: !--exclude:
git archive     --format:tar|zip -v --verbose --prefix: -l --list -# !-o: !--output: !--remote:
                !--exec:
!git gc         -q --quiet --auto
git fsck        --full --no-dangling --dangling --unreachable --strict --progress --no-progress
!git config
!git difftool
!git mergetool
!git filter-branch
!git for-each-repo
!git am         --abort --continue --skip --quit
!git send-email
!git daemon
!git instaweb
!git gui
!git help
!git maintenance
!git format-patch
!git bundle
!git update-index
!git upload-pack
!git receive-pack
!git shell
!git replace
!git hook
!git remote-ext
!git svn
!git p4
!git request-pull
!git upload-archive
!git credential
!git fast-import
!git rerere
"""
