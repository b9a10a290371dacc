import { DEFAULT_MAX_RESERVATIONS } from "@bikeshare/contract";
import type { Command } from "commander";
import { createPartner, type PartnerRow, partnersOf } from "../partners/service.ts";
import type { CliContext } from "./context.ts";
import { readWholeNumber, systemOption } from "./options.ts";
import { table } from "./table.ts";
import { UsageError } from "./usage-error.ts";

/** `partners create` and `partners list`. */
export function registerPartners(program: Command, context: () => CliContext): void {
  const partners = program.command("partners").description("the companies that read our data");
  partners
    .command("create")
    .description("add a partner")
    .argument("<name>", "the company's name")
    .option(
      "--max-reservations <n>",
      `active reservations that it may have at once; ${DEFAULT_MAX_RESERVATIONS}, when not given`,
    )
    .action(async (name: string, options: { maxReservations?: string }, command: Command) => {
      if (name.trim() === "") throw new UsageError("The name must not be empty.");
      const maxReservations =
        options.maxReservations === undefined ? undefined : readMaxReservations(options.maxReservations);
      const { actor, clock, ids, output, withDatabase, resolveSystem } = context();
      await withDatabase(async (db) => {
        const systemId = await resolveSystem(db, systemOption(command));
        const partner = await createPartner({ db, clock, ids, actor }, systemId, name.trim(), {
          maxReservations,
        });
        output.result(
          { id: partner.id, name: partner.name, max_reservations: limitOf(partner) },
          `Made partner ${partner.id} (${partner.name}).`,
        );
      });
    });
  partners
    .command("list")
    .description("list the partners")
    .action(async (_options: unknown, command: Command) => {
      const { output, withDatabase, resolveSystem } = context();
      await withDatabase(async (db) => {
        const rows = await partnersOf({ db }, await resolveSystem(db, systemOption(command)));
        output.result(
          { partners: rows.map((row) => ({ ...row, max_reservations: limitOf(row) })) },
          table(
            ["id", "name", "created", "reservations at once"],
            rows.map((row) => [row.id, row.name, row.created_at.toISOString(), String(limitOf(row))]),
          ),
        );
      });
    });
}

/** More than any city has bikes: a mistyped number is noticed. */
const MOST_RESERVATIONS = 1_000_000;

function readMaxReservations(text: string): number {
  return readWholeNumber("--max-reservations", text, 1, MOST_RESERVATIONS);
}

function limitOf({ max_reservations }: PartnerRow): number {
  return max_reservations ?? DEFAULT_MAX_RESERVATIONS;
}
