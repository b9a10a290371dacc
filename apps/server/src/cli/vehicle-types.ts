import { formFactor, propulsionType, type VehicleType } from "@bikeshare/contract";
import type { Command } from "commander";
import {
  allVehicleTypesOf,
  describeVehicleType,
  removeVehicleType,
  type VehicleTypeChanges,
} from "../vehicle-types/service.ts";
import type { CliContext } from "./context.ts";
import { beginningTable } from "./list-walk.ts";
import { readGivenId, readLine, readInteger, readWord, systemOption } from "./options.ts";
import { UsageError } from "./usage-error.ts";

interface SetOptions {
  readonly name?: string;
  readonly formFactor?: string;
  readonly propulsion?: string;
  readonly range?: string;
}

/** Metres that no vehicle goes: a number above it is a typing error. */
const MAX_RANGE_METERS = 10_000_000;

/** `vehicle-types set`, `list` and `remove`. */
export function registerVehicleTypes(program: Command, context: () => CliContext): void {
  const types = program.command("vehicle-types").description("what the ids of vehicle types mean");
  types
    .command("set")
    .description("say what a vehicle type is; it goes before what a feed says. An empty value takes a word back")
    .argument("<id>", "the vehicle type's id, as bikes name it")
    .option("--name <name>", "what riders call it")
    .option("--form-factor <word>", `what it looks like: ${formFactor.options.join(", ")}`)
    .option("--propulsion <word>", `what moves it: ${propulsionType.options.join(", ")}`)
    .option("--range <metres>", "how far it goes when fully charged or fuelled")
    .action((id: string, options: SetOptions, command: Command) => set(context(), id, options, command));
  types
    .command("list")
    .description("list every vehicle type that is described, or that anything names")
    .action((_options: unknown, command: Command) => list(context(), command));
  types
    .command("remove")
    .description("take back what was said of a vehicle type")
    .argument("<id>", "the vehicle type's id")
    .action((id: string, _options: unknown, command: Command) => remove(context(), id, command));
}

async function set(cli: CliContext, id: string, options: SetOptions, command: Command): Promise<void> {
  const typeId = readGivenId(id);
  const changes = readChanges(options);
  if (Object.keys(changes).length === 0)
    throw new UsageError("Say something of it: --name, --form-factor, --propulsion or --range.");
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    await describeVehicleType({ ...cli, db }, systemId, typeId, changes);
    const type = (await allVehicleTypesOf(db, systemId)).find((each) => each.id === typeId);
    cli.output.result({ ...type }, tableOf(type === undefined ? [] : [type]));
  });
}

function readChanges({ name, formFactor: form, propulsion, range }: SetOptions): VehicleTypeChanges {
  return {
    ...(name === undefined ? {} : { name: name === "" ? null : readLine("--name", name) }),
    ...(form === undefined
      ? {}
      : { form_factor: form === "" ? null : readWord("--form-factor", form, formFactor.options) }),
    ...(propulsion === undefined
      ? {}
      : {
          propulsion_type: propulsion === "" ? null : readWord("--propulsion", propulsion, propulsionType.options),
        }),
    ...(range === undefined
      ? {}
      : { max_range_meters: range === "" ? null : readInteger("--range", range, 0, MAX_RANGE_METERS) }),
  };
}

async function list(cli: CliContext, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const types = await allVehicleTypesOf(db, await cli.resolveSystem(db, systemOption(command)));
    const unknown = types.filter(
      ({ form_factor, propulsion_type }) => form_factor === null || propulsion_type === null,
    );
    const note =
      unknown.length === 0
        ? []
        : [
            "",
            `Nobody has said what ${unknown.map(({ id }) => id).join(", ")} look${unknown.length === 1 ? "s" : ""} like or runs on; GBFS has no word for that and says bicycle, human.`,
            `Say it: bikeshare vehicle-types set ${unknown[0]?.id ?? ""} --form-factor bicycle --propulsion electric_assist`,
          ];
    cli.output.result({ vehicle_types: types }, [tableOf(types), ...note].join("\n"));
  });
}

async function remove(cli: CliContext, id: string, command: Command): Promise<void> {
  await cli.withDatabase(async (db) => {
    const systemId = await cli.resolveSystem(db, systemOption(command));
    await removeVehicleType({ ...cli, db }, systemId, id);
    cli.output.result({ id }, `Took back what was said of the vehicle type ${id}.`);
  });
}

function tableOf(types: readonly VehicleType[]): string {
  return beginningTable(
    { items: types, total: types.length },
    {
      id: ({ id }) => id,
      name: ({ name }) => name,
      form: ({ form_factor }) => form_factor,
      propulsion: ({ propulsion_type }) => propulsion_type,
      range: ({ max_range_meters }) => max_range_meters,
    },
  );
}
