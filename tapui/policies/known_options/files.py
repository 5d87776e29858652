"""Harmless options of programs that read, search, sort, pack and copy files."""

TABLE = """
ls,dir,vdir,gls -a --all -A --almost-all -b --escape -B --ignore-backups -c -C -d --directory -D
                -f -F --classify? --file-type -g --group-directories-first -G --no-group -h
                --human-readable --si -H --dereference-command-line --hide: --hyperlink? -i
                --inode -I: --ignore: -k --kibibytes -l -L --dereference -m -n --numeric-uid-gid
                -N --literal -o -p -q --hide-control-chars -Q --quote-name -r --reverse -R
                --recursive -s --size -S -t -T -u -U -v -w: --width: -x -X -Z --context -1
                --color? --format: --full-time --indicator-style: --quoting-style:
                --show-control-chars --sort: --time: --time-style: --block-size: --author --zero
                --tabsize:
eza,exa,lsd     -a --all -l --long -1 --oneline -T --tree -L: --level: -R --recurse -r --reverse
                -s: --sort: -h --header -g --group -H --links --icons? --git -d --list-dirs -D
                --only-dirs --color: --no-icons -F --classify
tree            -a -d -f -i -l -L: -P: -I: -s -h -D -t -r -C -n -J -X -p -u -g -F -N -Q -v -c -U
                --noreport --dirsfirst --gitignore --prune --du --si --matchdirs --ignore-case
                --filelimit: !-o: !--fromfile !--fromtabfile !-R
cat,gcat        -A --show-all -b --number-nonblank -e -E --show-ends -n --number -s
                --squeeze-blank -t -T --show-tabs -u -v --show-nonprinting -l
bat,batcat      -n --number -p --plain -pp -A --show-all -l: --language: -r: --line-range: -H:
                --highlight-line: --style: --color: --decorations: --theme: --wrap: --tabs: -d
                --diff --terminal-width: -f --force-colorization --paging:never !--pager:
                !--config-file: !--paging: !--lessopen !-m: !--map-syntax:
tac             -b --before -r --regex -s: --separator:
rev
nl              -b: -d: -f: -h: -i: -l: -n: -p -s: -v: -w: --body-numbering: --number-format:
                --number-width: --number-separator:
head,ghead      -# -c: --bytes: -n: --lines: -q --quiet --silent -v --verbose -z
                --zero-terminated
tail,gtail      -# -c: --bytes: -f -F --follow? -n: --lines: --pid: -q --quiet --silent --retry
                -r -s: --sleep-interval: -v --verbose -z --zero-terminated
                --max-unchanged-stats:
less            -# -N -S -R -r -F -X -i -I -M -m -E -e -n -s -g -G -q -Q --LINE-NUMBERS
                --RAW-CONTROL-CHARS --chop-long-lines --quit-if-one-screen --no-init !-o: !-O:
                !-k: !-t: !-T: !-p: !--log-file: !--lesskey-file: !--lesskey-src:
                !--lesskey-content: !-D:
more            -# -d -f -l -p -c -s -u -e
wc              -c --bytes -m --chars -l --lines -L --max-line-length -w --words --total:
cut             -b: --bytes: -c: --characters: -d: --delimiter: -f: --fields: -n --complement -s
                --only-delimited --output-delimiter: -z --zero-terminated
tr              -c -C --complement -d --delete -s --squeeze-repeats -t --truncate-set1
uniq            {1} -c --count -d --repeated -D --all-repeated? -f: --skip-fields: --group? -i
                --ignore-case -s: --skip-chars: -u --unique -z --zero-terminated -w:
                --check-chars:
sort,gsort      -b --ignore-leading-blanks -d --dictionary-order -f --ignore-case -g
                --general-numeric-sort -i --ignore-nonprinting -M --month-sort -h
                --human-numeric-sort -n --numeric-sort -R --random-sort -r --reverse --sort: -V
                --version-sort -c --check? -C --debug -k: --key: -m --merge -s --stable -S:
                --buffer-size: -t: --field-separator: -u --unique -z --zero-terminated
                --parallel: --batch-size: !-o: !--output: !--compress-program: !-T:
                !--temporary-directory: !--files0-from: !--random-source:
comm            -1 -2 -3 --check-order --nocheck-order --output-delimiter: --total -z -i
join            -a: -e: -i --ignore-case -j: -o: -t: -v: -1: -2: --check-order --nocheck-order
                --header -z
paste           -d: --delimiters: -s --serial -z --zero-terminated
column          -t --table -s: --separator: -o: --output-separator: -c: --output-width: -N:
                --table-columns: -x --fillrows -n -J --json -l: --table-columns-limit: -R:
                --table-right:
fold            -b --bytes -c --characters -s --spaces -w: --width: -#
fmt             -c -s -t -u -w: --width: --split-only --uniform-spacing -#
expand,unexpand -i --initial -t: --tabs: -a --all --first-only
seq             -f: --format: -s: --separator: -w --equal-width
shuf            -e --echo -i: --input-range: -n: --head-count: -r --repeat -z --zero-terminated
                !-o: !--output: !--random-source:
split,gsplit    -a: --suffix-length: -b: --bytes: -C: --line-bytes: -d --numeric-suffixes? -x
                --hex-suffixes? -e --elide-empty-files -l: --lines: -n: --number: -t:
                --separator: -u --verbose -# --additional-suffix: !--filter:
csplit          -b: -f: -k -n: -q -s -z --prefix: --digits: --quiet --silent --keep-files
cmp             -b --print-bytes -i: --ignore-initial: -l --verbose -n: --bytes: -s --quiet
                --silent
diff,gdiff      -# -q --brief -s --report-identical-files -c -C: --context? -u -U: --unified? -e
                --ed -n --rcs -y --side-by-side -W: --width: --left-column
                --suppress-common-lines -p --show-c-function -F: --show-function-line: --label:
                -L: -t --expand-tabs -T --initial-tab --tabsize: -r --recursive --no-dereference
                -N --new-file --unidirectional-new-file --ignore-file-name-case -x: --exclude:
                -S: --starting-file: -i --ignore-case -E --ignore-tab-expansion -Z
                --ignore-trailing-space -b --ignore-space-change -w --ignore-all-space -B
                --ignore-blank-lines -I: --ignore-matching-lines: -a --text --strip-trailing-cr
                -D: --ifdef: -d --minimal --horizon-lines: --speed-large-files --color?
                --palette: --normal --from-file: --to-file: --line-format: --old-line-format:
                --new-line-format: --unchanged-line-format: --old-group-format:
                --new-group-format: --changed-group-format: --unchanged-group-format: !-l
                !--paginate !-X: !--exclude-from: !--diff-program:
diff3,sdiff     -A -e -E -m -x -X -i -T -a -s -l -w: -b -B -W -L: !-o: !--output:
                !--diff-program:
colordiff,difft -u -r -y -w -b --color? --width: --context: --display: --language: !--difftype:
grep,egrep,fgrep,ggrep -# -E --extended-regexp -F --fixed-strings -G --basic-regexp -P
                --perl-regexp -e: --regexp: -f: --file: -i --ignore-case --no-ignore-case -w
                --word-regexp -x --line-regexp -z --null-data -s --no-messages -v --invert-match
                -m: --max-count: -b --byte-offset -n --line-number --line-buffered -H
                --with-filename -h --no-filename --label: -o --only-matching -q --quiet --silent
                --binary-files: -a --text -I -d: --directories: -D: --devices: -r --recursive -R
                --dereference-recursive --include: --exclude: --exclude-dir: --exclude-from: -L
                --files-without-match -l --files-with-matches -c --count -T --initial-tab -Z
                --null -A: --after-context: -B: --before-context: -C: --context: --color?
                --colour? -y --group-separator: --no-group-separator -U --binary
rg,ripgrep      -# -e: --regexp: -i --ignore-case -S --smart-case -s --case-sensitive -F
                --fixed-strings -w --word-regexp -x --line-regexp -v --invert-match -n
                --line-number -N --no-line-number -H --with-filename -I --no-filename -l
                --files-with-matches --files-without-match -c --count --count-matches -o
                --only-matching -q --quiet -m: --max-count: -A: --after-context: -B:
                --before-context: -C: --context: -t: --type: -T: --type-not: --type-list
                --type-add: --type-clear: -g: --glob: --iglob: --glob-case-insensitive -.
                --hidden --no-hidden --no-ignore --no-ignore-vcs --no-ignore-parent
                --no-ignore-global --no-ignore-dot --no-ignore-files --ignore-file: -u
                --unrestricted -uu -uuu -L --follow --no-follow -d: --max-depth: --maxdepth:
                --max-filesize: -a --text --binary -b --byte-offset -U --multiline
                --multiline-dotall -P --pcre2 --engine: -r: --replace: --files --sort: --sortr:
                --stats --json --vimgrep --column --no-column --heading --no-heading -p --pretty
                --color: --colors: --no-messages --trim -M: --max-columns: --max-columns-preview
                -j: --threads: -E: --encoding: --crlf -0 --null --null-data --passthru
                --path-separator: --context-separator: --line-buffered --block-buffered --debug
                --no-config --one-file-system --mmap --no-mmap --no-pre --include-zero
                --regex-size-limit: --dfa-size-limit: -f: --file: --no-require-git !--pre:
                !--pre-glob: !-z !--search-zip !--hostname-bin: !--hyperlink-format:
                !--generate:
ag,ack          -i -l -c -n -w -v -Q -s -o -h -H -L -A: -B: -C: -g: -G: --ignore: --hidden
                --nocolor --nogroup --noheading --column --stats -m: -u -a -S --depth: -f
                !--pager: !--ackrc: !--path-to-ignore: !-p: !-z
find,gfind      -H -L -P -amin: -anewer: -atime: -cmin: -cnewer: -ctime: -daystart -depth -d
                -empty -executable -false -follow -fstype: -gid: -group: -ignore_readdir_race
                -ilname: -iname: -inum: -ipath: -iregex: -iwholename: -links: -lname: -ls
                -maxdepth: -mindepth: -mmin: -mount -mtime: -name: -newer: -newermt: -newerct:
                -newerat: -nogroup -noleaf -nouser -path: -perm: -print -print0 -printf: -prune
                -quit -readable -regex: -regextype: -samefile: -size: -true -type: -uid: -used:
                -user: -warn -nowarn -wholename: -writable -xdev -xtype: -a -and -o -or -not
                !-exec !-execdir !-ok !-okdir !-delete !-fprint: !-fprintf: !-fprint0: !-fls:
                !-files0-from: !-D: !-f:
fd,fdfind       -H --hidden -I --no-ignore -u --unrestricted -s --case-sensitive -i
                --ignore-case -g --glob --regex -F --fixed-strings -a --absolute-path -L
                --follow -p --full-path -d: --max-depth: --min-depth: --exact-depth: -t: --type:
                -e: --extension: -E: --exclude: -S: --size: --changed-within: --changed-before:
                -o: --owner: --format: -c: --color: -j: --threads: -1 --max-results: -q --quiet
                --prune -0 --print0 --and: --no-ignore-vcs --no-ignore-parent
                --strip-cwd-prefix? --show-errors --one-file-system !-x !--exec !-X
                !--exec-batch !-l !--list-details !--ignore-file: !-C: !--base-directory:
                !--search-path: !--batch-size: !--gen-completions?
locate,plocate  -i -l: --limit: -c -b -e -r: --regex !-d: !--database:
stat,gstat      -L --dereference -f --file-system -c: --format: --printf: -t --terse -x -s
file            -b --brief -i --mime -I --mime-type --mime-encoding -L --dereference -h
                --no-dereference -k --keep-going -N --no-pad -n -r --raw -0 --print0 -F:
                --separator: !-C !--compile !-m: !--magic-file: !-z !-Z !--uncompress !-f:
                !--files-from: !-S !-s
du              -0 -a --all --apparent-size -B: --block-size: -b --bytes -c --total -D -d:
                --max-depth: -h --human-readable --inodes -k -L -l -m -P -S --separate-dirs -s
                --summarize --si -t: --threshold: --time? -x --exclude:
df              -a --all -B: -h --human-readable -H --si -i --inodes -k -l --local -P
                --portability -T --print-type -t: --type: -x: --exclude-type: --total --output?
                --sync --no-sync
basename        -a --multiple -s: --suffix: -z --zero
dirname         -z --zero
realpath        -e --canonicalize-existing -m --canonicalize-missing -L -P -q -s --strip
                --no-symlinks -z --relative-to: --relative-base:
readlink        -f --canonicalize -e -m -n --no-newline -q -s -v -z
md5sum,sha1sum,sha224sum,sha256sum,sha384sum,sha512sum,b2sum,cksum,shasum,md5,sum -b --binary -c
                --check -t --text -w --warn --quiet --status --strict --tag --ignore-missing -z
                --zero -a: --algorithm: -l: -q -r
base64,base32   -d --decode -D -i --ignore-garbage -w: --wrap: !-o: !--output:
od              -A: -j: -N: -S: -t: -v -w? -a -b -c -d -f -i -l -o -s -x
hexdump,hd      -b -c -C -d -n: -o -s: -v -x !-f:
xxd             {1} -a -b -c: -E -e -g: -h -i -l: -o: -p -ps -r -s: -u
strings         -a --all -n: --bytes: -t: --radix: -e: --encoding: -f -#
iconv           -f: --from-code: -t: --to-code: -c -l --list -s !-o: !--output:
jq              -r --raw-output -c --compact-output -n --null-input -s --slurp -S --sort-keys -R
                --raw-input -e --exit-status -a --ascii-output -j --join-output -C
                --color-output -M --monochrome-output --tab --indent: --arg: --argjson: --args
                --jsonargs --seq --stream --unbuffered !-L: !-f: !--from-file: !--run-tests:
                !--slurpfile: !--rawfile:
yq              -r -c -n -s -S -e -M -C -P -o: -p: -I: -N --unwrapScalar --indent:
                --output-format: --input-format: --prettyPrint --no-colors --colors !-i
                !--inplace !-f: !--from-file:
bc              -l --mathlib -q --quiet -s --standard -w --warn
tar,gtar,bsdtar -t --list -x --extract --get -c --create -r --append -u --update -d --diff
                --compare -v --verbose -f: --file: -z --gzip --gunzip --ungzip -j --bzip2 -J
                --xz --zstd --lzma -a --auto-compress --no-auto-compress -p
                --preserve-permissions -k --keep-old-files --keep-newer-files --skip-old-files
                -m --touch --no-same-owner --no-same-permissions --same-owner --numeric-owner
                --strip-components: --exclude: --exclude-vcs --exclude-vcs-ignores
                --exclude-caches --wildcards --no-wildcards --anchored --no-anchored
                --ignore-case -h --dereference --hard-dereference -l -O --to-stdout -w -W
                --verify -n -s -S --sparse --totals? --sort:name|none|inode --mtime: --owner:
                --group: --mode: --format: -H:gnu|pax|ustar|v7|oldgnu|posix --full-time --utc
                --no-recursion --recursion --one-file-system -R --block-number -o -i
                --ignore-zeros -A --concatenate --show-transformed-names --occurrence?
                --delay-directory-restore --quote-chars: --quoting-style: --warning: --xattrs
                --no-xattrs --acls --selinux !-I: !--use-compress-program: !-F: !--info-script:
                !--new-volume-script: !-C: !--directory: !--to-command: !--checkpoint?
                !--checkpoint-action: !--rsh-command: !--rmt-command: !-T: !--files-from: !-X:
                !--exclude-from: !-P !--absolute-names !--remove-files !-g:
                !--listed-incremental: !--index-file: !--transform: !--xform: !-s: !-K:
                !--starting-file: !-V: !--label: !-L: !--tape-length: !-b: !-N: !--newer:
                !--force-local !--add-file: !--backup? !--suffix: !--overwrite !--unlink-first
                !--recursive-unlink !-M !--multi-volume !--volno-file: !--delete !-U
zip             -rq -qr -ry -rj -rX -r9 -9r -q9 -9q -r -R -q -v -u -f -d -x -i -j -y -0 -1 -2 -3
                -4 -5 -6 -7 -8 -9 -X -D -n: -l -ll -g -e --recurse-paths --quiet --verbose
                --update --freshen --junk-paths --symlinks --no-extra --exclude --include !-T
                !-TT: !--unzip-command: !--test !-b: !--temp-path: !-m !--move !-O:
                !--output-file: !--out: !-@ !--names-stdin !-FF !-F !-P: !-tt: !-t: !-ld !-lf:
                !-lu !-s: !-sp
unzip           -l -v -t -q -qq -n -j -L -a -aa -C -p -Z -z -h -hh -u -f -B -x !-d: !-o !-P: !-X
                !-K
zipinfo         -1 -2 -s -m -l -v -h -t -z -C
gzip,gunzip,zcat,bzip2,bunzip2,bzcat,xz,unxz,xzcat,zstd,unzstd,zstdcat,lz4 -# -c --stdout
                --to-stdout -d --decompress --uncompress -k --keep -l --list -n -N -q --quiet -r
                -t --test -v --verbose --best --fast -e --extreme -T: --threads: -z !-S:
                !--suffix: !-o: !--output-dir-flat: !--output-dir-mirror: !--files? !--files0?
                !-f !--force !--rm !--patch-from: !-D: !--filelist:
7z,7za,7zr      -y -r -bd -ba -slt !-o? !-t? !-si !-so !-w? !-i? !-x? !-sfx?
rsync           -v --verbose -q --quiet -a --archive -r --recursive -R --relative -u --update -l
                --links -L --copy-links -H --hard-links -p --perms -E --executability -A --acls
                -X --xattrs -o --owner -g --group -t --times -O --omit-dir-times -S --sparse -n
                --dry-run -W --whole-file -x --one-file-system --existing --ignore-existing
                --partial -z --compress --compress-level: -C --cvs-exclude --exclude: --include:
                -8 -h --human-readable --progress -P -i --itemize-changes --stats --list-only
                --bwlimit: --timeout: -c --checksum --size-only --max-size: --min-size:
                --no-motd -d --dirs -4 --ipv4 -6 --ipv6 --numeric-ids -I --ignore-times
                --checksum-choice: --info: --safe-links --no-perms --no-owner --no-group
                --no-times --chmod: -m --prune-empty-dirs !-e: !--rsh: !--rsync-path: !--daemon
                !--config: !-M: !--remote-option: !--files-from: !--exclude-from:
                !--include-from: !-f: !--filter: !-F !--password-file: !--log-file:
                !--log-file-format: !-T: !--temp-dir: !--backup-dir: !-b !--backup !--suffix:
                !--partial-dir: !--delete !--delete-before !--delete-during !--delete-after
                !--delete-excluded !--del !--remove-source-files !--force !--compare-dest:
                !--copy-dest: !--link-dest: !--write-batch: !--only-write-batch: !--read-batch:
                !--port: !--sockopts: !--address: !-s !--protect-args !--secluded-args
                !--inplace !--append !-K !-k !--early-input: !--stop-after: !--usermap:
                !--groupmap: !--chown: !--out-format: !-B: !-y
cp,gcp          -a --archive -r -R --recursive -v --verbose -i --interactive -n --no-clobber -p
                --preserve? -u --update? -L --dereference -P --no-dereference -d -x
                --one-file-system --reflink? --sparse: -T --no-target-directory -f --force -H -l
                --link -s --symbolic-link -Z --parents !-t: !--target-directory: !-S: !--suffix:
                !-b !--backup?
mv,gmv          -v --verbose -i --interactive -n --no-clobber -u --update? -f --force -T
                --no-target-directory !-t: !--target-directory: !-S: !--suffix: !-b !--backup?
rm,grm          -i -I -v --verbose -d --dir -f --force -r -R --recursive --interactive?
                --one-file-system --preserve-root?
rmdir           -p --parents -v --verbose --ignore-fail-on-non-empty
mkdir           -p --parents -v --verbose -m: --mode:
touch           -a -c --no-create -d: --date: -h --no-dereference -m -r: --reference: -t:
                --time:
ln              -s --symbolic -v --verbose -r --relative -n --no-dereference -f --force -i -L -P
                -T !-t: !--target-directory: !-S: !--suffix: !-b !--backup?
install         -d --directory -v --verbose -m: --mode: -p --preserve-timestamps -C --compare -c
                !-D !-t: !--target-directory: !-S: !--suffix: !--strip-program: !-s !--strip
                !-o: !-g: !-b !--backup?
chmod           -R --recursive -v --verbose -c --changes -f --silent --quiet !--reference:
chown,chgrp     -R --recursive -v --verbose -c --changes -f --silent --quiet -h --no-dereference
                !--reference: !--from: !-L !-H
tee             -a --append -i --ignore-interrupts -p --output-error?
truncate        -s: --size: -c --no-create -o --io-blocks !-r: !--reference:
shred           -v -n: -z -u
dd
"""
