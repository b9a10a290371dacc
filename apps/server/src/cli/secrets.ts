import { access } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { duration } from "../runtime/startup/values.ts";
import { removeOldKeys, rotateKeys, type RotationContext } from "../storage/key-rotation/rotate.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import { type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { option } from "./options.ts";

const waitTime = duration("0s", "24h");

/** `secrets rotate` and `secrets remove-old-keys`. */
export function registerSecrets(program: ParentCommand, cli: OpenCli): void {
  const secrets = program.command("secrets").description("the keys of the secrets file");
  const wait = () =>
    option("--wait <duration>", "for processes to read the file", waitTime).default(waitTime("60s"), "60s");
  secrets
    .command("rotate")
    .description("replace the keys while the service runs; stopped midway, it goes on where it was")
    .addOption(wait())
    .action(({ wait: waitMs }) =>
      withSystem(cli(), async (context) => {
        const rotated = await rotateKeys(await rotationOf(context, waitMs));
        const { keys, changed, unreadable } = rotated;
        const lines = [
          `Every process encrypts with the new keys ${keys.join(" and ")}. Encrypted anew: ${changed}.`,
          ...(unreadable === 0 ? [] : [`Encrypted with a key that is lost, and left as they are: ${unreadable}.`]),
          "The old keys still decrypt. In an hour, when nobody holds a cursor of theirs, run `secrets remove-old-keys`.",
        ];
        context.output.result({ keys, reencrypted: changed, unreadable }, lines.join("\n"));
      }),
    );
  secrets
    .command("remove-old-keys")
    .description("remove the keys that `secrets rotate` has replaced, once nothing needs them")
    .addOption(wait())
    .option("--now", "do not wait until cursors of the old keys are out of use")
    .action(({ wait: waitMs, now = false }) =>
      withSystem(cli(), async (context) => {
        const { removed } = await removeOldKeys(await rotationOf(context, waitMs), now);
        context.output.result({ removed }, removed === 0 ? "There are no old keys." : `Removed ${removed} keys.`);
      }),
    );
}

async function rotationOf(context: SystemContext, waitMs: number): Promise<RotationContext> {
  const path = secretsPath(context.config);
  await access(path).catch(() => {
    throw new Error(`There is no secrets file ${path}. Set SECRETS_FILE or DATA_DIR as the service has them.`);
  });
  return { ...context, path, waitMs, sleep: (ms) => sleep(ms), onWaiting: (text) => context.output.note(text) };
}
