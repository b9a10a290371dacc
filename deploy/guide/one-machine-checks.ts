/*
 * Checks of what docs/operations.md promises about one machine, by heading. Each check runs after the last command
 * below its heading, and fails by throwing, as `one.run` does when a command fails. `one` is the machine; `world` simulates
 * the network around it, with a registry of packages; `outside` simulates a mail server and a partner's webhook receiver;
 * `outputs` has the output of the latest block of commands on each machine.
 */
import assert from "node:assert/strict";
import { eventually } from "./checks.ts";
import type { Check, Context } from "./context.ts";

/** Steps that run before the first command below a heading. */
export const oneMachinePreparations: Readonly<Record<string, Check>> = {
  // Publishes the newer version, to which the commands upgrade.
  Upgrade: async ({ world }) => world.release(),
};

export const oneMachineChecks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  "Start it": {
    "doctor finds nothing that does not work": async ({ machines: { one } }) => {
      console.log(await one.run("bikeshare doctor"));
    },
    "it uses the database of Debian": async ({ machines: { one } }) => {
      const tables = "select count(*) from information_schema.tables where table_schema = 'public'";
      const count = await one.run(`cd / && runuser -u postgres -- psql -qAt bikeshare -c "${tables}"`);
      assert.ok(Number(count) > 30, count);
    },
  },
  "Serve it over TLS": {
    "it answers 200 over TLS with a public certificate, and 403 without TLS": async ({ outputs }) => {
      assert.equal(outputs.get("one"), "https 200\nhttp 403");
    },
    // certbot proves that the name is ours by a file that nginx serves, also when it renews the certificate.
    "a renewal gets its file from nginx": async ({ machines: { one } }) => {
      await one.run("certbot renew --force-renewal --no-random-sleep-on-renew");
    },
  },
  "Invite people and issue keys": {
    "the invitation comes by mail": async ({ outside: { mail } }) => {
      await eventually(() =>
        assert.ok(
          mail.mails.some(({ to, data }) => to.join().includes("you@example.com") && data.includes("/dashboard")),
        ),
      );
    },
    "the partner's receiver gets a signed delivery": async ({ outside: { deliveries } }) => {
      await eventually(() => assert.match(deliveries[0]?.signature ?? "", /./));
    },
    "the partner's key works": async ({ machines: { one }, outputs }) => {
      const [key] = /bss_live_\w+/.exec(outputs.get("one") ?? "") ?? [];
      await one.run(`curl --fail --silent --header 'Authorization: Bearer ${key}' https://city.example.com/v1/me`);
    },
  },
  Backups: {
    "the service makes a backup by itself, beside the one that was asked for": async ({ machines: { one } }) => {
      await one.until("test $(ls /var/lib/bikeshare/backups/*.zip | wc -l) = 2", 120_000);
    },
  },
  Upgrade: {
    "after going back, the previous version runs on the same data": async (context) => {
      const { one } = context.machines;
      // The last commands below this heading go back, so the newest installed version must not run.
      const newest = await one.run("ls -1 /opt/bikeshare | grep -vx current | sort -V | tail -n 1");
      assert.notEqual(await versionOf(context), newest);
      await one.run("bikeshare check");
    },
  },
};

/** Returns the version that runs, which is the name of its directory. */
async function versionOf({ machines: { one } }: Context): Promise<string> {
  const pid = await one.run("systemctl show --property MainPID --value bikeshare");
  return (await one.run(`readlink /proc/${pid}/exe`)).replace(/^\/opt\/bikeshare\/([^/]+)\/.*$/s, "$1");
}
