import { riderRef } from "@bikeshare/contract";
import { forgetRider } from "../partners/forget/service.ts";
import { type OpenCli, type ParentCommand, runOnSystem } from "./context.ts";
import { option, parsed } from "./options.ts";

/** `forget`: erasure, as data protection law names it. */
export function registerForget(program: ParentCommand, cli: OpenCli): void {
  program
    .command("forget")
    .description("erase a rider's reference from reservations, events, webhooks and their log")
    .addOption(
      option("--rider-ref <ref>", "a partner's reference for the rider", (text) =>
        parsed(riderRef, text),
      ).makeOptionMandatory(),
    )
    .action(({ riderRef: reference }) =>
      runOnSystem(cli(), async (context) => {
        const tables = await forgetRider(context, context.systemId, reference);
        const rows = Object.values(tables).reduce((sum, n) => sum + n, 0);
        return {
          object: { rows, tables },
          facts: { "rows changed": rows, ...tables },
          notes: ["A search of every table found no other occurrence."],
        };
      }),
    );
}
