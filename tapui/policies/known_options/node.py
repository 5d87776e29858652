"""Harmless options of package managers, linters and runners of tests for JavaScript."""

TABLE = """
@runner         --run --watch? --watchAll? --no-watch --ci --coverage? --no-coverage --verbose
                --silent --bail? --runInBand --passWithNoTests -t: --testNamePattern:
                --testPathPattern: --grep: --onlyChanged --changedSince: --maxWorkers: --color
                --colors --no-color --no-colors --updateSnapshot --update --filter: --forceExit
                --detectOpenHandles --logHeapUsage --expand --listTests --headed --headless
                --workers: --retries: --timeout: --testTimeout: --exit --dry-run
                --reporter:dot|spec|verbose|list|line|default|basic|min|tap|json --no-cache
                --fix --check --noEmit --quiet -q -v --max-warnings: --project: --only !-u: !-e:
                !-p: !-i !-o: !-w: !-b !-R: !--runner: !--config: !-c: !--globalSetup:
                !--globalTeardown: !--setupFiles: !--setupFilesAfterEnv: !--testRunner:
                !--testEnvironment: !--env: !--transform: !--reporters: !--resolver: !--rootDir:
                !--roots: !--outputFile: !--require: !-r: !--import: !--loader:
                !--experimental-loader: !--node-option: !-n: !--ui: !--file: !--package:
                !--opts: !--spec: !--environment: !--pool: !--browser? !--inspect?
                !--inspect-brk? !--root: !--dir: !--plugin: !--rulesdir: !--preset:
                !--coverageDirectory: !--cacheDirectory: !--moduleNameMapper: !--haste:
                !--watchPlugins: !--snapshotResolver:
@npm            --silent -s -q --quiet -d --verbose --json --parseable -p --long -l --depth:
                --workspace: --workspaces --include-workspace-root --if-present --no-audit
                --no-fund --offline --prefer-offline --no-progress --progress? --loglevel:
                --color? --no-color --all -a --no-update-notifier --omit: --include: --only:
                --production --ignore-scripts --no-save --dry-run --audit-level:
                --legacy-peer-deps --prefer-dedupe --no-package-lock --package-lock-only
                --no-bin-links --no-optional --strict-peer-deps --fund? --audit? !-w: !-c:
                !--call: !--script-shell: !--shell: !--node-options: !--prefix: !-C:
                !--registry: !--userconfig: !--globalconfig: !-g !--global !--location: !--git:
                !--init-module: !--editor: !--viewer: !--browser: !--scripts-prepend-node-path?
                !--cache: !--before: !--package: !--cafile: !--proxy: !--https-proxy:
                !--noproxy: !--onload-script: !--tmp: !-y !--yes !--foreground-scripts
                !--prefix-path: !--install-strategy: !--install-links !--f !--force
                !--local-prefix: !--global-style !--scope: !--npm: !--npmPath: !--key: !--cert:
                !--otp: !--python: !--node-gyp: !--cwd: !--unsafe-perm? !--user: !--workdir:
                !--replace-registry-host:
npm             --silent -s -q --json --no-color --loglevel: -v -h -l !-C: !--prefix:
                !--userconfig: !--globalconfig: !-c: !--call: !--script-shell: !--node-options:
                !-w: !-g !--registry:
npm ci,npm clean-install,npm ic @npm -v --version {0}
npm test,npm t,npm tst @npm
npm test --     @runner
npm t --        @runner
npm tst --      @runner
!npm run,npm run-script,npm rum,npm urn @npm +
npm run --      @runner
npm run-script -- @runner
npm rum --      @runner
npm urn --      @runner
!npm start      @npm
!npm stop       @npm
!npm restart    @npm
!npm install,npm i,npm in,npm add,npm isntall @npm = -D --save-dev -E --save-exact -O
                --save-optional -S --save -P --save-prod --save-peer --no-package-lock
!npm uninstall,npm remove,npm rm,npm un @npm = -D -S --save
!npm update,npm up,npm upgrade @npm
!npm dedupe     @npm
!npm link
!npm rebuild    @npm
!npm publish    --dry-run --json --tag: --access:
!npm pack       --dry-run --json
!npm version    --no-git-tag-version
npm view,npm info,npm show,npm v @npm
npm ls,npm list,npm ll,npm la @npm
npm outdated    @npm
npm audit       @npm
npm audit signatures @npm
!npm audit fix  @npm
npm why,npm explain @npm
npm search      @npm
npm ping        @npm
npm root        @npm
npm prefix      @npm
npm bin         @npm
npm whoami      @npm
npm fund        --json
npm query
npm pkg get     @npm
npm config get  --json
npm config list,npm config ls -l --json
npm doctor      @npm
npm diff        --diff: --diff-name-only --diff-unified:
npm cache verify
npm cache ls
!npm exec,npm x
@pnpm           -r --recursive --silent -s --reporter: --filter: -F: --parallel --stream
                --no-bail --bail? --if-present --offline --prefer-offline --frozen-lockfile
                --no-frozen-lockfile --ignore-scripts -P --prod -D --dev --no-optional --json
                --long --depth: --color --no-color --aggregate-output --workspace-concurrency:
                --sort --no-sort --lockfile-only --fail-if-no-match --reverse --resume-from:
                --loglevel: -w --workspace-root --dry-run !-C: !--dir: !-c !--shell-mode
                !--script-shell: !--node-options: !--shell-emulator !--config? !--modules-dir:
                !--store-dir: !--virtual-store-dir: !--global-dir: !-g !--global !--registry:
                !--userconfig: !--globalconfig: !--use-node-version: !--hooks?
                !--global-pnpmfile: !--pnpmfile: !--npm-path: !--lockfile-dir: !--state-dir:
                !--cache-dir: !--ignore-pnpmfile !--package: !--prefix:
pnpm            @pnpm -v -h
pnpm test,pnpm t @pnpm @runner
pnpm test --    @runner
pnpm t --       @runner
!pnpm run,pnpm run-script @pnpm @runner +
pnpm run --     @runner
pnpm run-script -- @runner
!pnpm start     @pnpm
!pnpm install,pnpm i @pnpm = --fix-lockfile
!pnpm add       @pnpm = -E --save-exact --save-dev --save-prod --save-optional -O --save-peer
!pnpm remove,pnpm rm,pnpm uninstall,pnpm un @pnpm =
!pnpm update,pnpm up,pnpm upgrade @pnpm -L --latest
!pnpm rebuild   @pnpm
!pnpm publish   --dry-run
!pnpm exec
!pnpm dlx
!pnpm create
pnpm ls,pnpm list,pnpm ll,pnpm la @pnpm
pnpm outdated   @pnpm
pnpm why        @pnpm
pnpm audit      @pnpm --audit-level:
pnpm licenses   @pnpm
pnpm root       @pnpm
pnpm bin        @pnpm
pnpm store path
pnpm store status
pnpm view,pnpm info,pnpm show @pnpm
@yarn           --silent -s --json --verbose --offline --prefer-offline --frozen-lockfile
                --immutable --ignore-scripts --non-interactive --no-progress --production?
                --prod --pure-lockfile --check-files --network-timeout: --inline-builds
                --immutable-cache --check-cache !--cwd: !--script-shell: !--use-yarnrc:
                !--modules-folder: !--cache-folder: !--registry: !--global-folder:
                !--preferred-cache-folder: !--link-folder: !--mutex: !--rc-path:
yarn            @yarn -v -h
yarn test       @yarn @runner
yarn test --    @runner
!yarn run       @yarn @runner +
yarn run --     @runner
!yarn start     @yarn
!yarn build     @yarn
!yarn lint      @yarn @runner
!yarn install   @yarn
!yarn add       @yarn = -D --dev -E --exact -O --optional -P --peer -T --tilde
!yarn remove    @yarn =
!yarn upgrade   @yarn --latest
!yarn up        @yarn
!yarn publish
!yarn exec
!yarn dlx
!yarn create
!yarn global
!yarn config
!yarn set
!yarn plugin
yarn list       @yarn --depth: --pattern:
yarn info       @yarn
yarn outdated   @yarn
yarn why        @yarn
yarn audit      @yarn --level: --groups:
yarn npm audit  --json --all --recursive
yarn npm info   --json
yarn workspaces info --json
yarn workspaces list --json
!yarn workspaces run
!yarn workspaces foreach
!yarn workspace
yarn check      --integrity --verify-tree
bun             -v --revision
bun test        --timeout: -t: --test-name-pattern: --bail? --only --todo --coverage
                --rerun-each: -u
!bun install,bun i = --frozen-lockfile --production -p --no-save --dry-run --ignore-scripts
                --silent
!bun add        = -d --dev -E --exact --optional
!bun remove     =
!bun run        +
!bun x
bun pm ls       --all
deno test,deno check,deno lint,deno fmt,deno bench -q --quiet --filter: --fail-fast? --parallel
                --check --json --no-run --watch --doc --all --ignore: --rules --reporter: !-A
                !--allow-all !-c: !--config: !--import-map:
bun outdated
tsc             --noEmit -p: --project: -w --watch --pretty? --incremental --strict
                --skipLibCheck --listFiles -v --showConfig -b --build --diagnostics
                --extendedDiagnostics --traceResolution --explainFiles !--outDir: !--outFile:
                !--declarationDir: !--generateTrace: !--tsBuildInfoFile: !--rootDir: !--plugins:
                !--generateCpuProfile: !--init
eslint          --fix --fix-dry-run --quiet --max-warnings: --ext: --ignore-pattern: --no-ignore
                --cache --color --no-color --no-eslintrc --no-error-on-unmatched-pattern
                --report-unused-disable-directives -h -v -f:json|stylish|compact|unix
                --format:json|stylish|compact|unix --env: --debug --rule: --fix-type: !-c:
                !--config: !--rulesdir: !--plugin: !--parser: !--parser-options: !-o:
                !--output-file: !--global: !--resolve-plugins-relative-to: !--cache-file:
                !--cache-location: !--ignore-path: !--init !--flag:
prettier        --check -c --write -w -l --list-different --log-level: --loglevel: --no-color
                --color --no-config --ignore-unknown -u --single-quote --tab-width:
                --print-width: --no-semi --trailing-comma: --cache
                --no-error-on-unmatched-pattern --with-node-modules --no-editorconfig
                --end-of-line: --prose-wrap: --use-tabs --file-info: --find-config-path:
                --support-info --stdin-filepath: !--parser: !--config: !--plugin:
                !--plugin-search-dir: !--ignore-path: !--cache-location: !--config-precedence:
jest,vitest,mocha,ava,tap @runner
playwright test @runner
!playwright install
hadolint,yamllint,markdownlint -f: --format: -s --strict -q --quiet !-c: !--config: !-d: !-r:
                !--rules: !-o: !--output:
"""
