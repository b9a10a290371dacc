/* Checks of what docs/containers.md promises, by heading. Each check runs after the last command below its heading. */
import assert from "node:assert/strict";
import { basename } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Engine } from "./engine.ts";
import { readImageNames } from "./images.ts";
import {
  ask,
  backupIsGood,
  becomes,
  isConfined,
  keyIn,
  killedIsRestarted,
  mainProcess,
  plainRequestIsRefused,
  report,
} from "./inspect.ts";
import { podsRun } from "./pods.ts";
import { auditLogIsGivenAway, longestStatementsAreListed } from "./statements.ts";

/** What the checks use. */
export interface Context {
  readonly engine: Engine;
  /** The clone in which the commands are run. */
  readonly clone: string;
  /** The output of the latest block of commands. */
  output: string;
  /** Keys of the service that compose.yaml starts. */
  readonly keys: { operator: string; partner: string };
}

type Check = (context: Context) => Promise<void>;

/*
 * Ports of this machine: 3000 is the single container's. compose.yaml publishes the API processes at 3001 and 3002, and
 * the metrics of them and the worker at 9461, 9462 and 9471. The restored copy is at 3003.
 */

/** The containers of the service that compose.yaml starts. */
const PROCESSES = ["bikeshare-api-1-1", "bikeshare-api-2-1", "bikeshare-worker-1"] as const;
/**
 * Most bytes that the image adds to its Node.js base image. The service and its modules take 64 MB, the embedded PostgreSQL
 * 60 MB.
 */
const MAX_ADDED_BYTES = 150e6;

/** Headings whose commands are not run, with the reason. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "Kubernetes: the manifests": "kubectl needs a cluster; their pods are run without one",
};

/** Steps that run before the first command below a heading. */
export const preparations: Readonly<Record<string, Check>> = {
  "After a loss": async ({ engine, clone }) => {
    await engine.run(`cd ${clone} && docker compose --file deploy/docker/compose.yaml down`);
    await engine.run("docker volume rm bikeshare_data bikeshare_postgres");
  },
  "A new version": async ({ engine, clone }) => {
    await engine.run(`echo 'LABEL version=next' >> ${clone}/deploy/docker/Dockerfile`);
    // Writes a line for each moment at which a load balancer would have found no ready process.
    await engine.run(`mkdir ${engine.root}/watch; cd ${engine.root}/watch; touch gaps
      (until [ -e stop ]; do
        curl -sf -o answer http://127.0.0.1:9461/readyz || curl -sf -o answer http://127.0.0.1:9462/readyz || date >> gaps
        echo >> looks; sleep 0.2
      done) < /dev/null > log 2>&1 &`);
  },
};

/** The checks below each heading, by what the page promises. */
export const promises: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  "One container": {
    "the image has no sources, tools, package manager, or file that the service may change": imageIsBare,
    "the image adds little to that of Node.js": async ({ engine, clone }) => {
      const base = `"$(sed -n 's/^FROM \\(node:[^ ]*\\)$/\\1/p' ${clone}/deploy/docker/Dockerfile)"`;
      const sizes = await engine.run(`docker image inspect --format '{{.Size}}' bikeshare ${base}`);
      const [image = 0, node = 0] = sizes.split("\n").map(Number);
      console.log(`        ${((image - node) / 1e6).toFixed(0)} MB above its ${(node / 1e6).toFixed(0)} MB`);
      assert.ok(image - node < MAX_ADDED_BYTES);
    },
    "it has no root, no rights, cannot get any, and writes no file system but its data": ({ engine }) =>
      isConfined(engine, "bikeshare"),
    "what the proxy got over TLS is answered, what came without is refused": async ({ engine, output }) => {
      await report(engine, 3000, keyIn(output), "stations", STATION);
      await plainRequestIsRefused(engine, 3000);
    },
    "it makes a backup by itself, which can be restored": ({ engine }) => backupIsGood(engine, "bikeshare"),
    "a process that answers nothing becomes unhealthy, and healthy when it answers again": async ({ engine }) => {
      const main = await mainProcess(engine, "bikeshare");
      await engine.run(`kill -STOP ${main}`);
      await becomes(engine, "bikeshare", "unhealthy");
      await engine.run(`kill -CONT ${main}`);
      await becomes(engine, "bikeshare", "healthy");
    },
    "a killed one starts again by itself, on the same data": async ({ engine, output }) => {
      await killedIsRestarted(engine, "bikeshare");
      const answer = await ask(engine, 3000, keyIn(output), "/operator/v1/stations", { items: [STATION] });
      assert.match(answer, /"outcome":"unchanged"/);
    },
    "it stops in order, within its time": async ({ engine }) => {
      await engine.run("docker stop bikeshare");
      assert.equal(await engine.run("docker inspect --format '{{.State.ExitCode}}' bikeshare"), "0");
      const log = await engine.run("docker logs bikeshare 2>&1 | tail -n 3");
      assert.match(log, /"msg":"stopping"[^]*"event":"stopped"[^]*"how":"fast"[^]*"msg":"stopped"/);
    },
  },
  "Several, with Compose": {
    "all five containers are healthy, and one has applied the migrations": async ({ engine }) => {
      const states = await engine.run("docker ps --format '{{.Names}} {{.Status}}' --filter name=bikeshare-");
      assert.equal(states.match(/\(healthy\)/g)?.length, 5, states);
      const logs = await engine.run(PROCESSES.map((name) => `docker logs ${name} 2>&1`).join("; "));
      assert.equal(logs.match(/"msg":"schema migrated"/g)?.length, 1);
      assert.doesNotMatch(logs, /redis_unavailable/);
    },
    "five ports are open, on the loopback": async ({ engine }) => {
      const open = await engine.run("ss --listening --tcp --numeric --no-header | awk '{ print $4 }' | sort");
      assert.deepEqual(
        open.split("\n"),
        [3001, 3002, 9461, 9462, 9471].map((port) => `127.0.0.1:${port}`),
      );
    },
    "each process has no root, no rights, and writes no file system but its data": async ({ engine }) => {
      for (const name of PROCESSES) await isConfined(engine, name);
    },
    "the key works on both, a ride on one is read on the other, and the worker numbers its events": async (context) => {
      context.keys.operator = keyIn(context.output);
      context.keys.partner = await issuePartnerKey(context);
      await ride(context, "ride-1");
      await eventsAre(context, 1);
      await plainRequestIsRefused(context.engine, 3002);
    },
    "the service's role is not a superuser, and its password lets in none": roleHasNoRights,
    "the runbook's SQL shows what runs": ({ engine, clone }) => longestStatementsAreListed(engine, clone),
    "the SQL of the page on commands takes the audit log from the service's role, which still adds to it": (context) =>
      auditLogIsGivenAway(context.engine, context.clone, () => runInContainer(context, "keys issue --operator")),
    "each process that is killed starts again by itself": async ({ engine }) => {
      for (const name of PROCESSES) await killedIsRestarted(engine, name);
    },
  },
  Backups: {
    "the worker has made one by itself, beside the one by hand, and each can be restored": async ({
      engine,
      output,
    }) => {
      assert.match(output, /is good/);
      const [first, second] = (await engine.run("ls /root/bikeshare-backups/*.zip")).split("\n");
      assert.ok(first !== undefined && second !== undefined);
      await engine.run(
        `docker exec bikeshare-worker-1 env TMPDIR=/backups bikeshare backup verify /backups/${basename(first)}`,
      );
    },
  },
  "A restored copy": {
    "it answers with the data of the composition, to the same key": async ({ engine, keys, output }) => {
      assert.match(output, /"gbfs_versions"|"feeds"/);
      const rides = await ask(engine, 3002, keys.partner, RIDES);
      assert.match(rides, /"ride-1"/);
      assert.equal(await ask(engine, 3003, keys.partner, RIDES), rides);
    },
  },
  "After a loss": {
    "the composition goes on with the data and keys of the backup": async (context) => {
      assert.match(await ask(context.engine, 3001, context.keys.partner, RIDES), /"ride-1"/);
      await eventsAre(context, 1);
    },
  },
  "A new version": {
    "all three processes run it, and one was ready at any time": async (context) => {
      const { engine } = context;
      await engine.run(`touch ${engine.root}/watch/stop`);
      const labels = PROCESSES.map((name) => `docker inspect --format '{{.Config.Labels.version}}' ${name}`);
      assert.equal(await engine.run(labels.join("; ")), "next\nnext\nnext");
      assert.equal(await engine.run(`cat ${engine.root}/watch/gaps`), "");
      assert.ok(Number(await engine.run(`wc --lines < ${engine.root}/watch/looks`)) > 10);
      await ride(context, "ride-2");
      await eventsAre(context, 2);
    },
  },
  Stopping: {
    "the data are still there": async (context) => {
      await eventsAre(context, 2);
      await ride(context, "ride-3");
      await eventsAre(context, 3);
    },
    "each process stops by itself, before it would be killed": async ({ engine, clone }) => {
      const containers = PROCESSES.join(" ");
      await engine.run(`cd ${clone} && docker compose --file deploy/docker/compose.yaml stop`);
      assert.equal(await engine.run(`docker inspect --format '{{.State.ExitCode}}' ${containers}`), "0\n0\n0");
    },
  },
  "Kubernetes: the manifests": {
    "their pods migrate, answer their probes, have no root or rights, and stop in their time": ({ engine, clone }) =>
      podsRun(engine, clone, readImageNames()),
  },
};

const RIDES = "/v1/rides?limit=10";
const STATION = { id: "harbour", name: "Harbour Street", lat: 54.5, lon: 3.5, capacity: 12 };

/** Makes one ride, with requests to both API processes. */
async function ride({ engine, keys: { operator: key } }: Context, id: string): Promise<void> {
  await report(engine, 3001, key, "stations", STATION);
  await report(engine, 3002, key, "bikes", { id: "bike-1", number: "0001", station_id: "harbour" });
  await report(engine, 3001, key, "rides/start", { id, bike_id: "bike-1", rider_category: "member" });
  await report(engine, 3002, key, "rides/end", { id, end_station_id: "harbour" });
}

/** Runs a command of the service as the page shows it. */
function runInContainer({ engine, clone }: Context, command: string): Promise<string> {
  const compose = `docker compose --file ${clone}/deploy/docker/compose.yaml`;
  return engine.run(`${compose} run --rm --no-deps worker ${command}`);
}

/** Creates a partner, and issues a key that may make so many requests that no check waits for the rate limit. */
async function issuePartnerKey(context: Context): Promise<string> {
  const run = async (command: string) =>
    JSON.parse(await runInContainer(context, `${command} --json`)) as { id: string; key?: string };
  const { id } = await run("partners create Journeys");
  const { key } = await run(`keys issue --partner ${id} --scopes rides:read,events:read --rate-limit 6000`);
  assert.ok(key !== undefined);
  return key;
}

/** Connects over the network, because inside its container PostgreSQL needs no password. */
async function roleHasNoRights({ engine }: Context): Promise<void> {
  const psql = (options: string) => `docker exec bikeshare-postgres-1 psql --no-psqlrc -At ${options}`;
  const rights = "rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls";
  const roles = await engine.run(psql(`-U postgres -c "select ${rights} from pg_roles where rolname = 'bikeshare'"`));
  assert.equal(roles, "f|f|f|f|f");
  const signIn = (role: string) =>
    engine.run(
      `docker exec bikeshare-postgres-1 sh -c 'PGPASSWORD=$(cat /run/secrets/postgres-password) psql -h postgres -U ${role} -Atc "select current_user" bikeshare'`,
    );
  assert.equal(await signIn("bikeshare"), "bikeshare");
  await assert.rejects(signIn("postgres"), /password authentication failed/);
}

/** Waits until the list has this number of ended rides. Events appear there only after the worker has numbered them. */
async function eventsAre({ engine, keys: { partner: key } }: Context, count: number): Promise<void> {
  for (const end = performance.now() + 30_000; ;) {
    const answer = await ask(engine, 3002, key, "/v1/events?limit=100");
    if (answer.match(/"ride\.completed"/g)?.length === count) return;
    assert.ok(performance.now() < end, answer);
    await wait(500);
  }
}

/**
 * Inspects the image as root. The script uses `if` or tests instead of `! command`, whose failure would not end a script of
 * `sh -e`.
 */
async function imageIsBare({ engine }: Context): Promise<void> {
  const script = `
    for tool in npm npx pnpm yarn tsc; do if command -v $tool; then exit 1; fi; done
    for path in /repository /app/src /app/test; do [ ! -e $path ]; done
    for name in typescript vitest turbo vite oxlint; do [ ! -e /app/node_modules/.pnpm/node_modules/$name ]; done
    own=$(find /app -path /app/node_modules -prune -o -type f -print)
    if echo "$own" | grep -E '[.]ts$|[.]test[.]js$|[.]map$|/[.]env|secrets[.]json'; then exit 1; fi
    [ -z "$(find /app /usr /etc /opt -xdev ! -type l \\( -perm -o=w -o -user 10001 \\))" ]`;
  await engine.run(`docker run --rm --interactive --user 0 --entrypoint sh bikeshare -e <<'END'\n${script}\nEND`);
}
