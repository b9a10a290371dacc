/*
 * Checks of what docs/two-nodes.md promises, by heading. Each check runs after the last command below its heading. In a
 * `Context`, `machines` are the nodes a and b, the administrator's machine c, and db with PostgreSQL; `world` is the
 * network with the registry that publishes versions of the server; `outside` has the mail server and the partner's
 * receiver; `outputs` has the output of the latest block of commands on each machine; `found` keeps values for later
 * checks.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { connect } from "node:tls";
import { callersOf, issueKey, keyOf, startCalls } from "./calls.ts";
import type { Check, Context } from "./context.ts";
import { ADDRESSES } from "./machines.ts";

/** Steps that run before the first command below a heading. */
export const preparations: Readonly<Record<string, Check>> = {
  // The upgrade of the page before, docs/operations.md, has published the newer version of the server.
  "Names and addresses": async ({ world }) => world.retract(),
  "Scheduled backups": fillWithRides,
  Upgrades: async (context) => {
    context.world.release();
    await startCalls(context);
  },
  "Back to the previous version": startCalls,
  "People, a partner and keys": async ({ found, outside }) => {
    found.set("deliveries", outside.deliveries.length);
  },
  // Waits until Prometheus has scraped all six processes (a value of "1" each). A failure shows which are missing.
  "To see an alert": ({ machines: { c } }) =>
    c.until(`${ASK_UP} | tee /dev/stderr | grep -q '\\(.*"1"\\]\\)\\{6\\}'`, 120_000).then(() => undefined),
};

/** The checks below each heading, by what the page promises. */
export const checks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  "The first start": {
    "all processes of both nodes are active": async ({ machines: { a, b } }) => {
      for (const node of [a, b]) await node.run(`systemctl is-active ${UNITS}`);
    },
    "doctor finds nothing to mend": async ({ machines: { a, b } }) => {
      for (const node of [a, b]) console.log(await node.run("bikeshare doctor"));
    },
    "each process answers Prometheus on the network of the machines alone": async ({ machines: { c } }) => {
      for (const node of ["a", "b"])
        // The metrics of both API processes and of the worker.
        for (const port of [9461, 9462, 9471])
          await c.run(`curl --fail --silent http://${node}:${port}/metrics | grep -q ^bikeshare_`);
    },
  },
  "The proxy, with TLS": {
    "each node answers 200 over TLS, and 403 without": async ({ outputs }) => {
      assert.equal(outputs.get("c"), "a https 200\na http 403\nb https 200\nb http 403");
    },
  },
  "A certificate of a public authority": {
    "both nodes answer with the certificate of the renewal, to whoever trusts the public authority alone":
      renewedCertificate,
  },
  "People, a partner and keys": {
    "the invitation comes by mail": async ({ outside: { mail } }) => {
      await eventually(() => {
        assert.ok(mail.mails.some(({ data }) => data.includes("bikes.example.com") && data.includes("/dashboard")));
      });
    },
    "the partner's receiver gets a signed delivery": async ({ found, outside: { deliveries } }) => {
      const earlier = Number(found.get("deliveries"));
      await eventually(() => assert.match(deliveries[earlier]?.signature ?? "", /./));
    },
    "the partner's key works on both nodes": async (context) => {
      const [key] = /bss_live_\w+/.exec(context.outputs.get("a") ?? "") ?? [];
      context.found.set("key", key);
      for (const node of ["a", "b"] as const)
        assert.equal((await (await callersOf(context)).get(node, "/v1/me", `${key}`)).status, 200);
    },
    "the rate limit is exact over both nodes": async (context) => {
      const key = await issueKey(context, 40);
      const calls = Array.from({ length: 60 }, async (_, index) =>
        (await callersOf(context)).get(index % 2 === 0 ? "a" : "b", "/v1/me", key),
      );
      const statuses = (await Promise.all(calls)).map(({ status }) => status);
      assert.deepEqual(
        [statuses.filter((each) => each === 200).length, statuses.filter((each) => each === 429).length],
        [40, 20],
      );
    },
  },
  "Scheduled backups": {
    "a worker makes a backup by itself": async ({ machines: { a } }) => {
      await a.until("ls /var/lib/bikeshare/backups/*.zip", 120_000);
    },
  },
  "Off the machine": {
    "the administrator's machine has what the node has, where nobody else can read it": async ({
      machines: { a, c },
    }) => {
      const list = (directory: string) => `cd ${directory} && sha256sum *.zip`;
      const fetched = await c.run(list("/var/backups/bikeshare"));
      assert.equal(fetched, await a.run(list("/var/lib/bikeshare/backups")));
      assert.equal(await c.run("find /var/backups/bikeshare -perm /077"), "");
      await c.run("systemctl is-active fetch-backups.timer");
    },
  },
  Alerts: {
    "the operator has a mail when the backups could not be fetched": async ({
      machines: { a, c },
      outside: { mail },
    }) => {
      await c.until("amtool --alertmanager.url=http://127.0.0.1:9093 alert query", 30_000);
      await a.run("systemctl stop ssh");
      await assert.rejects(c.run("systemctl start fetch-backups"));
      await a.run("systemctl start ssh");
      await eventually(() => assert.ok(mail.mails.some(({ data }) => data.includes("BackupsNotFetched"))), 120_000);
      await c.run("systemctl start fetch-backups");
    },
  },
  "A restored copy": {
    "it answers, with the same data, to the same key": sameDataOnCopy,
  },
  "From the embedded database to your own PostgreSQL": {
    "it answers from there, with the same data": async (context) => {
      const rides = await context.machines.db.run(
        "cd / && runuser -u postgres -- psql -qAt moved -c 'select count(*) from rides'",
      );
      assert.ok(Number(rides) > 0, rides);
      await sameDataOnCopy(context);
    },
  },
  "To see an alert": {
    "Prometheus has fired it, and the operator has a mail": async ({ outside: { mail } }) => {
      await eventually(() => assert.ok(mail.mails.some(({ data }) => data.includes("ProcessDown"))), 180_000);
    },
  },
  Upgrades: {
    "no request failed meanwhile": noFailedCall,
    "the new version runs on both nodes": (context) => runsVersion(context, "newer"),
  },
  "Back to the previous version": {
    "no request failed meanwhile": noFailedCall,
    "the version of before runs on both nodes": (context) => runsVersion(context, "older"),
  },
};

async function renewedCertificate({ machines: { c }, signing, outputs }: Context): Promise<void> {
  await c.run("test $(ls /etc/letsencrypt/archive/bikes.example.com/fullchain*.pem | wc -l) = 2");
  const latest = await c.run("cat /etc/letsencrypt/live/bikes.example.com/cert.pem");
  assert.match(outputs.get("c") ?? "", /certbot.timer/);
  for (const host of [ADDRESSES.a, ADDRESSES.b]) {
    const socket = connect({ host, port: 443, servername: "bikes.example.com", ca: signing.root });
    await once(socket, "secureConnect");
    assert.equal(socket.getPeerX509Certificate()?.toString().trim(), latest);
    socket.destroy();
  }
}

/** The systemd units of a node. */
const UNITS = "bikeshare-api@1 bikeshare-api@2 bikeshare-worker@1";
/** Asks Prometheus which processes it can scrape. */
const ASK_UP = "curl --fail --silent --data-urlencode 'query=up' http://127.0.0.1:9090/api/v1/query";

/** Simulates rides for a while, through the operator interface of the nodes. */
async function fillWithRides({ machines: { a } }: Context): Promise<void> {
  await a.run(`
    bikeshare --json keys issue --operator | grep -o 'bss_operator_[A-Za-z0-9_]*' > /tmp/operator-key
    chmod 0644 /tmp/operator-key
    timeout --preserve-status 20 bikeshare simulate --stations 30 --bikes 100 --speed 300 \\
      --url https://bikes.example.com --key-file /tmp/operator-key`);
}

interface Page {
  readonly data: readonly unknown[];
}

/** Compares the lists of a service on c, at port 3001, with those of node a. */
async function sameDataOnCopy(context: Context): Promise<void> {
  const key = keyOf(context);
  for (const path of ["/v1/stations?limit=30", "/v1/rides?limit=50"]) {
    const headers = `--header 'X-Forwarded-Proto: https' --header 'Authorization: Bearer ${key}'`;
    const answered = await context.machines.c.run(`curl --fail --silent ${headers} 'http://127.0.0.1:3001${path}'`);
    const copied = JSON.parse(answered) as Page;
    const { body } = await (await callersOf(context)).get("a", path, key);
    assert.ok(copied.data.length > 20);
    // Compares only the data of the page, because the number of pages may have grown since.
    assert.deepEqual(copied.data, (body as Page).data);
  }
}

/** Stops the calls that `startCalls` began, and expects that none failed. */
async function noFailedCall(context: Context): Promise<void> {
  const { count, failures } = await (await callersOf(context)).stop();
  assert.deepEqual(failures, []);
  assert.ok(count > 100, `${count} calls`);
  console.log(`               ${count} requests`);
}

/** Expects one version on all units: the upgrade stores it as the newer one, and the way back must lead to another. */
async function runsVersion({ machines: { a, b }, found }: Context, expected: "newer" | "older"): Promise<void> {
  const running = new Set<string>();
  for (const node of [a, b])
    for (const unit of UNITS.split(" ")) {
      const pid = await node.run(`systemctl show --property MainPID --value ${unit}`);
      const program = await node.run(`tr '\\0' ' ' < /proc/${pid}/cmdline; readlink /proc/${pid}/exe`);
      // Keeps the directory of the version, which is the last such path in the text.
      running.add(program.replace(/^.*\n?.*(\/opt\/bikeshare\/[^/]+)\/.*$/s, "$1"));
    }
  assert.equal(running.size, 1, [...running].join());
  const [version] = running;
  if (expected === "newer") found.set("version", version);
  else assert.notEqual(version, found.get("version"));
}

/** Repeats an assertion until it holds. @throws its last error */
export async function eventually(holds: () => void, timeoutMs = 30_000): Promise<void> {
  for (const end = performance.now() + timeoutMs; ;) {
    try {
      return holds();
    } catch (error) {
      if (performance.now() > end) throw error;
      await wait(200);
    }
  }
}
