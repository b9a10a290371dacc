import { riderRef } from "@bikeshare/contract";
import { forgetRider } from "../partners/forget/service.ts";
import { type OpenCli, type ParentCommand, withSystem } from "./context.ts";
import { option } from "./options.ts";

/** `forget`: what the law calls erasure. */
export function registerForget(program: ParentCommand, cli: OpenCli): void {
  program
    .command("forget")
    .description("remove what refers to a rider: from reservations, events, webhooks and their log")
    .addOption(option("--rider-ref <ref>", "a partner's reference for the rider", readRiderRef).makeOptionMandatory())
    .action(({ riderRef: reference }) =>
      withSystem(cli(), async (context, systemId) => {
        const tables = await forgetRider(context, systemId, reference);
        const rows = Object.values(tables).reduce((sum, n) => sum + n, 0);
        const lines = Object.entries(tables).map(([name, n]) => `  ${name}: ${n}`);
        const text = ["Removed, and searched for again: nothing is left.", ...lines].join("\n");
        context.output.result({ rows, tables }, text);
      }),
    );
}

function readRiderRef(text: string): string {
  const read = riderRef.safeParse(text);
  if (!read.success) throw new Error(read.error.issues[0]?.message ?? "is not valid");
  return read.data;
}
