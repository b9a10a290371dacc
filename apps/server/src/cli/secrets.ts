import { access } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { duration } from "../runtime/startup/values.ts";
import { removeOldKeys, rotateKeys, type RotationContext } from "../storage/key-rotation/rotate.ts";
import { secretsPath } from "../storage/secrets/secrets.ts";
import { type DeploymentContext, type OpenCli, type ParentCommand, runOnDeployment } from "./context.ts";
import { option } from "./options.ts";

const waitTime = duration("0s", "24h");

/** `secrets rotate` and `secrets remove-old-keys`. */
export function registerSecrets(program: ParentCommand, cli: OpenCli): void {
  const secrets = program.command("secrets").description("manage the keys of the secrets file");
  const wait = () =>
    option("--wait <duration>", "how long processes may take to read the file", waitTime).default(
      waitTime("60s"),
      "60s",
    );
  secrets
    .command("rotate")
    .description("replace the keys while the service runs; resumes after an interruption")
    .addOption(wait())
    .action(({ wait: waitMs }) =>
      runOnDeployment(cli(), async (context) => {
        const rotated = await rotateKeys(await rotationOf(context, waitMs));
        const { keys, changed, unreadable } = rotated;
        return {
          object: { keys, reencrypted: changed, unreadable },
          notes: [
            ...(unreadable === 0 ? [] : [`${unreadable} secrets are encrypted with a lost key and were not changed.`]),
            "The old keys still decrypt. Run `secrets remove-old-keys` in an hour, when their cursors have expired.",
          ],
        };
      }),
    );
  secrets
    .command("remove-old-keys")
    .description("remove the keys that `secrets rotate` replaced")
    .addOption(wait())
    .option("--now", "remove them before their cursors have expired")
    .action(({ wait: waitMs, now = false }) =>
      runOnDeployment(cli(), async (context) => {
        const { removed } = await removeOldKeys(await rotationOf(context, waitMs), now);
        return { object: { removed } };
      }),
    );
}

async function rotationOf(context: DeploymentContext, waitMs: number): Promise<RotationContext> {
  const path = secretsPath(context.config);
  await access(path).catch(() => {
    throw new Error(`There is no secrets file ${path}. Set SECRETS_FILE or DATA_DIR to the service's values.`);
  });
  return { ...context, path, waitMs, sleep: (ms) => sleep(ms), onWaiting: (text) => context.output.note(text) };
}
