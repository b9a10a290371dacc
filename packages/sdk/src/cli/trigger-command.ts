import { UsageError } from "../errors/errors.ts";
import { SandboxClient } from "../sandbox.ts";
import type { SandboxEvent, SandboxEventName, SandboxScenario, SandboxScenarioName } from "../sandbox.ts";
import { type CommandContext, type ServiceCommand, textOf } from "./command.ts";
import { printable } from "./output.ts";
import { sandboxEvents, sandboxScenarios } from "./sandbox-names.generated.ts";

/** The command `trigger`: causes an event in a sandbox, or plays a scenario there. */
export const triggerCommand: ServiceCommand = {
  name: "trigger",
  summary: "Cause an event in your sandbox, or play a scenario there",
  takesId: true,
  idName: "event or scenario",
  options: { station: { value: "<id>", description: "where the event happens; default: the sandbox chooses" } },
  details: `Events:
${sandboxEvents.map((name) => `  ${name}`).join("\n")}

Scenarios:
${Object.entries(sandboxScenarios)
  .map(([name, summary]) => `  ${name.padEnd(28)}  ${summary}`)
  .join("\n")}

The key must be a sandbox's: it begins with bss_test_.`,
  run,
};

async function run({ id: name, values, clientOptions, output, environment }: CommandContext): Promise<void> {
  const station = textOf(values, "station");
  const options = { signal: environment.stopped };
  if (isEvent(name)) {
    const { sandbox } = new SandboxClient(clientOptions);
    const caused = await sandbox.trigger(name, { station_id: station }, options);
    output.result(caused, `${stepsOf(caused)}\n${name}: ${printable(caused.resource_id)}`);
    return;
  }
  if (!isScenario(name)) {
    throw new UsageError("no event or scenario has this name: `bikeshare-sdk trigger --help` lists them");
  }
  if (station !== undefined) throw new UsageError("--station is of events: a scenario chooses its stations");
  const { sandbox } = new SandboxClient(clientOptions);
  const played = await sandbox.scenario(name, options);
  output.result(played, stepsOf(played));
  if (played.key !== null) output.note("--json shows the key that was made.");
}

function isEvent(name: string): name is SandboxEventName {
  return (sandboxEvents as readonly string[]).includes(name);
}

function isScenario(name: string): name is SandboxScenarioName {
  return Object.hasOwn(sandboxScenarios, name);
}

/** Returns what happened in the sandbox, with a line for each step. */
function stepsOf({ steps }: SandboxEvent | SandboxScenario): string {
  return steps.map((step) => `- ${printable(step)}`).join("\n");
}
