"""Harmless options of programs for networks, containers and the system."""

TABLE = """
curl            -s --silent -S --show-error -f --fail --fail-with-body -L --location -I --head
                -i --include --show-headers -v --verbose -m: --max-time: --connect-timeout:
                --retry: --retry-delay: --retry-connrefused --retry-all-errors --retry-max-time:
                --compressed -G --get -A: --user-agent: -4 --ipv4 -6 --ipv6 --http1.0 -0
                --http1.1 --http2 --http3 -r: --range: -g --globoff --no-progress-meter -#
                --progress-bar -N --no-buffer -X:GET|HEAD|OPTIONS --request:GET|HEAD|OPTIONS
                --tlsv1.2 --tlsv1.3 --max-redirs: --limit-rate: --url:http* -e: --referer:
                --tcp-nodelay --keepalive-time: --styled-output -o:/dev/null --output:/dev/null
                -w:%{http_code}|%{http_code}\\n --write-out:%{http_code} -V -h
                --no-styled-output !-K: !--config: !-O !--remote-name !--remote-name-all !-J
                !--output-dir: !-D: !--dump-header: !-c: !--cookie-jar: !-b: !--cookie: !-T:
                !--upload-file: !-d: !--data: !--data-raw: !--data-binary: !--data-urlencode:
                !--data-ascii: !--json: !-F: !--form: !--form-string: !-H: !--header: !-x:
                !--proxy: !--trace: !--trace-ascii: !--stderr: !--libcurl: !--unix-socket:
                !--abstract-unix-socket: !-Q: !--quote: !-t: !--telnet-option: !--engine:
                !--krb: !--netrc-file: !-n !--netrc !--etag-save: !--etag-compare: !--hsts:
                !--alt-svc: !-E: !--cert: !--key: !--cacert: !--capath: !-u: !--user:
                !--preproxy: !--resolve: !--connect-to: !-k !--insecure !--next !-Z
                !--create-file-mode: !--ftp-create-dirs !--create-dirs !--proto: !-y: !-Y: !-z:
                !-C: !-P: !--interface: !--dns-servers: !--doh-url: !--ssl-sessions:
wget            -q --quiet -v --verbose -nv --no-verbose -t: --tries: --timeout: -T: -S
                --server-response --spider -4 --inet4-only -6 --inet6-only --no-cache -N
                --timestamping -nc --no-clobber --show-progress -w: --wait: --random-wait
                --max-redirect: --limit-rate: --no-check-certificate? !-e: !--execute:
                -O:-|/dev/null --output-document:-|/dev/null !-P: !--directory-prefix: !-o:
                !--output-file: !-a: !--append-output: !--config: !--use-askpass: !-i:
                !--input-file: !-B: !-x !-nd !-nH !--cut-dirs: !-r !-m !-p !-k !-K !-E
                !--save-cookies: !--load-cookies: !--post-file: !--post-data: !--body-file:
                !--body-data: !--method: !--header: !-U: !--user-agent: !--ca-certificate:
                !--certificate: !--warc-file: !--warc-tempdir: !--rejected-log: !--hsts-file:
                !-c !--continue !-b !--background !-l: !-A: !-R: !-D: !-I: !-X: !-Q:
                !--dns-servers: !--bind-address: !--content-disposition
http,https,xh   -v --verbose -h --headers -b --body -p: --print: --check-status --follow -F
                --timeout: --pretty: --ignore-stdin !-o: !--output: !-d !--download !--session:
                !--proxy: !--verify: !--cert: !-f !--form !-a: !--auth: !--session-read-only:
                !-c
scp             -r -p -q -C -v -B -3 -4 -6 -P: -l: !-S: !-o: !-F: !-D: !-i: !-J: !-c: !-O !-T
                !-X:
ping,ping6      -c: -i: -w: -W: -q -n -4 -6 -s: -t:
dig,nslookup    -x: -t: -4 -6 -p: -q: !-f: !-k:
host            -t: -a -v -4 -6
traceroute      -n -m: -q: -w: -4 -6 -I -T
ss,netstat      -t -u -l -n -p -a -r -i -s -o -x -4 -6 -e -m -H !-D: !-F: !-K
lsof            -i? -n -P -p: -t -u: -c: -a !-D?
@docker         -q --quiet -a --all -f: --filter: --format: --no-trunc
docker,podman   -v -l: --log-level: -D --debug !-H: !--host: !-c: !--context: !--config: !--url:
                !--connection: !--root: !--runroot: !--tlscacert: !--tlscert: !--tlskey:
                !--runtime: !--conmon: !--hooks-dir: !--cgroup-manager: !--module:
docker ps,podman ps @docker -n: -l --latest -s --size
docker images,podman images @docker --digests
docker logs,podman logs -f --follow -n: --tail: -t --timestamps --since: --until: --details
docker inspect,podman inspect -f: --format: -s --size --type:
docker version,podman version -f: --format:
docker info,podman info -f: --format:
docker stats,podman stats @docker --no-stream
docker top,podman top
docker port,podman port
docker diff,podman diff
docker history,podman history @docker -H --human
docker events,podman events -f: --filter: --format: --since: --until:
docker search,podman search --limit: --no-trunc --format: -f: --filter:
docker system df,podman system df -v --verbose --format:
docker system info
docker container ls,docker container ps @docker -n: -l -s --size
docker container logs -f --follow -n: --tail: -t --timestamps --since: --until:
docker container inspect -f: --format: -s
docker container top
docker container port
docker container stats @docker --no-stream
docker image ls @docker --digests
docker image inspect -f: --format:
docker image history @docker
docker volume ls @docker
docker volume inspect -f: --format:
docker network ls @docker
docker network inspect -f: --format: -v
docker context ls -q --format:
docker context show
docker buildx ls
docker buildx version
!docker build,podman build -t: --tag: --no-cache --pull -q --quiet --progress: --rm --target:
                --platform: !-f: !--file: !-o: !--output: !--build-arg: !--secret: !--ssh:
                !--iidfile: !--metadata-file: !--add-host: !--build-context: !--cache-to:
                !--cache-from: !--builder: !--allow: !--network: !-v: !--runtime:
!docker buildx build -t: --tag: --no-cache --pull -q --progress: --target: --platform:
!docker pull,podman pull -q --quiet -a --all-tags --platform:
!docker push,podman push -q --quiet
!docker tag,podman tag
!docker rm,podman rm
!docker rmi,podman rmi
!docker stop,podman stop -t: --time:
!docker start,podman start
!docker restart,podman restart -t: --time:
!docker kill,podman kill
!docker login,podman login
!docker exec,podman exec
!docker run,podman run
!docker create,podman create
!docker cp,podman cp
!docker save,podman save
!docker load,podman load
!docker container exec
!docker container run
@compose        --ansi: --progress: --profile: --compatibility --dry-run !-f: !--file:
                !--env-file: !-p: !--project-name: !--project-directory: !--workdir: !-H:
                !--host: !-c: !--context:
docker compose,docker-compose,podman compose,podman-compose @compose -v
docker compose ps,docker-compose ps,podman-compose ps @docker --services --status: --orphans
docker compose logs,docker-compose logs,podman-compose logs -f --follow -n: --tail: -t
                --timestamps --since: --until: --no-color --no-log-prefix
docker compose config,docker-compose config -q --quiet --services --images --profiles --volumes
                --format: --no-interpolate !-o: !--output:
docker compose images,docker-compose images -q --quiet --format:
docker compose top,docker-compose top
docker compose ls,docker-compose ls @docker
docker compose version,docker-compose version --short
docker compose events --json
docker compose port --protocol: --index:
!docker compose up,docker-compose up,podman-compose up -d --detach --build --no-build --pull:
                --wait --no-deps --force-recreate --remove-orphans --abort-on-container-exit
                --quiet-pull --no-recreate --no-start -t: --timeout: -w --watch
!docker compose down,docker-compose down,podman-compose down --remove-orphans -t: --timeout:
!docker compose build,docker-compose build,podman-compose build --no-cache --pull -q --quiet
!docker compose pull,docker-compose pull -q --quiet
!docker compose start,docker-compose start
!docker compose stop,docker-compose stop -t: --timeout:
!docker compose restart,docker-compose restart -t: --timeout:
!docker compose exec,docker-compose exec
!docker compose run,docker-compose run
!docker compose cp
!docker compose rm
@kubectl        -n: --namespace: -A --all-namespaces -l: --selector: --field-selector:
                --context: --cluster: --request-timeout: -v: --no-headers --show-labels
                --sort-by: --chunk-size: --show-kind -L: --label-columns:
                -o:wide|yaml|json|name|jsonpath=*|custom-columns=*|go-template=*
                --output:wide|yaml|json|name|jsonpath=*|custom-columns=*|go-template=* -w
                --watch --ignore-not-found !--kubeconfig: !-s: !--server: !--token: !--as:
                !--as-group: !--as-uid: !--user: !--username: !--password: !--client-key:
                !--client-certificate: !--certificate-authority: !--insecure-skip-tls-verify?
                !--cache-dir: !--profile: !--profile-output: !-f: !--filename: !-k:
                !--kustomize: !-R !--raw: !--template: !--tls-server-name: !--log-file:
kubectl,oc,k    @kubectl
kubectl get,oc get,k get @kubectl +
kubectl describe,oc describe,k describe @kubectl + --show-events?
kubectl logs,oc logs,k logs @kubectl -f --follow --tail: -c: --container: --since: --since-time:
                -p --previous --timestamps --all-containers --prefix --max-log-requests:
kubectl top     @kubectl --containers
kubectl top pod,kubectl top pods @kubectl --containers
kubectl top node,kubectl top nodes @kubectl
kubectl version @kubectl --client --short
kubectl cluster-info @kubectl
kubectl explain @kubectl --recursive --api-version:
kubectl api-resources @kubectl --namespaced? --api-group: --verbs:
kubectl api-versions @kubectl
kubectl events  @kubectl --types: --for:
kubectl auth can-i @kubectl --list
kubectl auth whoami @kubectl
kubectl rollout status @kubectl --timeout:
kubectl rollout history @kubectl --revision:
!kubectl rollout restart @kubectl
!kubectl rollout undo @kubectl
kubectl config view --minify
kubectl config get-contexts -o:name
kubectl config current-context
!kubectl config use-context
kubectl wait    @kubectl --for: --timeout: --all
!kubectl apply  @kubectl --dry-run?
!kubectl delete @kubectl =
!kubectl create @kubectl +
!kubectl scale  @kubectl --replicas:
!kubectl label  @kubectl
!kubectl annotate @kubectl
!kubectl exec
!kubectl run
!kubectl cp
!kubectl edit
!kubectl debug
!kubectl attach
!kubectl proxy
!kubectl port-forward
!kubectl plugin
!kubectl diff
helm list,helm ls -n: --namespace: -A --all-namespaces -a -q -o:table|json|yaml !--kubeconfig:
helm status,helm history,helm get -n: --namespace: -o:table|json|yaml !--kubeconfig:
helm version    --short
helm lint       --strict --quiet !-f: !--values: !--set:
!helm install
!helm upgrade
!helm template
!helm plugin
@gh             -R: --repo: --json: -q: --jq: -t: --template: -L: --limit: !-w !--web
                !--hostname: !--browser
gh pr list      @gh -s: --state: -A: --author: -a: --assignee: -l: --label: -B: --base: -H:
                --head: -S: --search: -d --draft
gh pr view      @gh -c --comments
gh pr status    @gh -c --conflict-status
gh pr diff      @gh --name-only --patch --color:
gh pr checks    @gh --required --watch --fail-fast -i: --interval:
!gh pr create   -R: --repo: -t: --title: -b: --body: -B: --base: -H: --head: -d --draft -f
                --fill -l: --label: -r: --reviewer: -a: --assignee: !-F: !--body-file: !-w
                !--web !-e !--editor !-T: !--template: !--recover:
!gh pr checkout
!gh pr merge
!gh pr close
!gh pr edit
!gh pr comment  -b: --body:
!gh pr review
gh issue list   @gh -s: --state: -A: --author: -a: --assignee: -l: --label: -S: --search: -m:
                --milestone: --mention:
gh issue view   @gh -c --comments
gh issue status @gh
!gh issue create -R: --repo: -t: --title: -b: --body: -l: --label: -a: --assignee: !-F:
                !--body-file: !-w !--web !-e !--editor
!gh issue close
!gh issue edit
!gh issue comment -b: --body:
gh run list     @gh -b: --branch: -s: --status: -u: --user: -e: --event: -c: --commit:
                --created: -a --all --workflow:
gh run view     @gh --log --log-failed -j: --job: -v --verbose --exit-status -a: --attempt:
gh run watch    @gh --exit-status -i: --interval: --compact
!gh run rerun
!gh run cancel
!gh run download
gh workflow list @gh -a --all
gh workflow view @gh -y --yaml
!gh workflow run
gh repo view    @gh -b: --branch:
gh repo list    @gh --visibility: --source --fork --language: --topic: --archived --no-archived
!gh repo clone
!gh repo create
!gh repo delete
gh release list @gh --exclude-drafts --exclude-pre-releases -O: --order:
gh release view @gh
!gh release create
!gh release download
gh label list   @gh -S: --search: --sort: --order:
gh search issues,gh search prs,gh search repos,gh search code,gh search commits @gh --owner:
                --state: --author: --language: --label: --sort: --order: --match: --created:
                --updated: --assignee: --repo: --extension: --filename:
gh status       @gh -e: --exclude: -o: --org:
gh auth status  -a --active
gh cache list   @gh -k: --key: -S: --sort: -O: --order: -r: --ref:
gh ruleset list @gh
gh ruleset view @gh
gh project list @gh --owner:
gh project view @gh --owner:
gh config get
gh config list
gh extension list
gh alias list
!gh api         -q: --jq: -t: --template: --paginate --slurp -i --include -X:GET --method:GET
                --silent --cache: --verbose !-f: !-F: !--field: !--raw-field: !--input: !-H:
                !--header: !--hostname: !-p: !--preview:
!gh extension exec
!gh extension install
!gh alias set
!gh gist create
gh gist list    @gh --public --secret
gh gist view    -f: --filename: --files -r --raw
gh version
!gh browse
!gh codespace
!gh config set
!gh secret
!gh copilot
terraform version
terraform validate -json -no-color
terraform fmt   -check -diff -recursive -list?
terraform show  -json -no-color
terraform output -json -raw -no-color !-state?
!terraform init
!terraform plan
!terraform apply
brew list,brew info,brew search,brew outdated,brew deps -q --quiet -v --verbose --json?
                --formula --cask --versions --tree
!brew install
apt-cache,dpkg-query -l -s -L -W -S -f: --names-only -n !-c: !-o: !--config-file: !--admindir:
systemctl status,systemctl list-units,systemctl is-active,systemctl is-enabled,systemctl
                show,systemctl list-timers,systemctl cat,systemctl list-unit-files --user
                --no-pager -l --full -n: --lines: -a --all -t: --type: -p: --property: -q
                --quiet --failed --state: !-H: !--host: !-M: !--machine: !--root: !--image:
!systemctl start,systemctl stop,systemctl restart,systemctl reload,systemctl enable,systemctl
                disable --user --now -q
journalctl      -u: --unit: --user-unit: -n: --lines: -f --follow -r --reverse -e -x -b? -k -p:
                --priority: -S: --since: -U: --until: -o: --output: --no-pager -q --quiet -t:
                -g: --grep: --user --system --disk-usage --list-boots -a !-D: !--directory:
                !--file: !--root: !--rotate !--vacuum-size: !--vacuum-time: !--cursor-file: !-M:
                !--image:
ps              -e -f -A -a -u? -U: -x -l -p: -o: -C: -F -H -L -j -w -ww -T --no-headers --sort:
                --forest --ppid: --pid: -ef -eo:
pgrep           -f -l -a -u: -x -n -o -c -i -P: -d: -v !-F:
top             -b -n: -d: -p: -u: -o: -H -i -l: -1
free            -h -m -g -k -b -t -s: -c: -w
uptime          -p -s
date            -u --utc -R --rfc-email -I? --iso-8601? --rfc-3339: -d: --date: -r: --reference:
                -j !-s: !--set: !-f: !--file:
cal             -# -y -m -3 -1
sleep
uname           -a -s -n -r -v -m -p -i -o
whoami
hostname        {0} -f -s -i -I -d -A !-F: !-b
id              -u -g -G -n -r -z
groups
who,w           -a -b -q -u -h -s
tty             -s
nproc           --all --ignore:
arch
lscpu,lsblk,lsusb,lspci -a -f -J -l -o: -p -e? -v -k -n -m -d: !-s: !-i: !-D: !-A:
printenv        -0 --null
which           -a -s
true
false
echo            -n -e -E -ne -en
pwd             -L -P
cd              -L -P
pushd           -n
popd            -n
dirs            -c -l -p -v
type            -a -t -p -P -f
jobs            -l -n -p -r -s !-x
wait            -n -f !-p:
kill            -l -L -# -s: -n: -9 -15 -TERM -KILL -INT -HUP -STOP -CONT -QUIT -USR1 -USR2
                -SIGTERM -SIGKILL -SIGINT
pkill,killall   -f -x -u: -n -o -# -9 -15 -TERM -KILL -INT -HUP -e -i -q -v !-F:
test            -a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S -z -n -o -ef -nt
                -ot -eq -ne -lt -le -gt -ge !-v: !-R:
"""
