import { formFactor, propulsionType, type VehicleType } from "@bikeshare/contract";
import type { Command } from "commander";
import { integer, oneOf } from "../startup/values.ts";
import { nameRegion, regionsOf, removeRegion } from "../systems/regions.ts";
import {
  allVehicleTypesOf,
  describeVehicleType,
  removeVehicleType,
  type VehicleTypeChanges,
} from "../systems/vehicle-types.ts";
import { type CliContext, withSystem } from "./context.ts";
import { lineOfText, option, orEmpty, readGivenId, readValue, UsageError } from "./options.ts";
import { table } from "./output.ts";

/** A number above it is a typing error: no vehicle goes so far. */
const MAX_RANGE_METERS = 10_000_000;

/** The options of `vehicle-types set`; the empty text clears a field. */
interface TypeOptions {
  readonly name?: string;
  readonly formFactor?: VehicleType["form_factor"] | "";
  readonly propulsion?: VehicleType["propulsion_type"] | "";
  readonly range?: number | "";
}

/** `vehicle-types set`, `list` and `remove`. */
export function registerVehicleTypes(program: Command, context: () => CliContext): void {
  const types = program.command("vehicle-types").description("what the ids of vehicle types mean");
  types
    .command("set")
    .description("describe a vehicle type; it takes precedence over feeds. An empty value removes a field")
    .argument("<id>", "the vehicle type's id, as bikes name it")
    .addOption(option("--name <name>", "what riders call it", orEmpty(lineOfText)))
    .addOption(
      option("--form-factor <word>", `its form: ${formFactor.options.join(", ")}`, orEmpty(oneOf(formFactor.options))),
    )
    .addOption(
      option(
        "--propulsion <word>",
        `what moves it: ${propulsionType.options.join(", ")}`,
        orEmpty(oneOf(propulsionType.options)),
      ),
    )
    .addOption(
      option(
        "--range <metres>",
        "how far it goes when fully charged or fuelled",
        orEmpty(integer(0, MAX_RANGE_METERS)),
      ),
    )
    .action((id: string, options: TypeOptions) => setType(context(), id, options));
  types
    .command("list")
    .description("list every vehicle type that is described, or that is in use")
    .action(() => listTypes(context()));
  types
    .command("remove")
    .description("remove the description of a vehicle type")
    .argument("<id>", "the vehicle type's id")
    .action((id: string) => removeType(context(), id));
}

/** `regions set`, `list` and `remove`. */
export function registerRegions(program: Command, context: () => CliContext): void {
  const regions = program.command("regions").description("what the ids of regions mean");
  regions
    .command("set")
    .description("name a region; the name takes precedence over feeds")
    .argument("<id>", "the region's id, as stations name it")
    .requiredOption("--name <name>", "what people call it")
    .action((id: string, { name }: { name: string }) => setRegion(context(), id, name));
  regions
    .command("list")
    .description("list every region that is named, or that a station is in")
    .action(() => listRegions(context()));
  regions
    .command("remove")
    .description("remove the name of a region")
    .argument("<id>", "the region's id")
    .action((id: string) => removeNamedRegion(context(), id));
}

async function setType(cli: CliContext, id: string, options: TypeOptions): Promise<void> {
  const typeId = readGivenId(id);
  const { name, formFactor: form, propulsion, range } = options;
  const changes: VehicleTypeChanges = {
    ...(name === undefined ? {} : { name: name === "" ? null : name }),
    ...(form === undefined ? {} : { form_factor: form === "" ? null : form }),
    ...(propulsion === undefined ? {} : { propulsion_type: propulsion === "" ? null : propulsion }),
    ...(range === undefined ? {} : { max_range_meters: range === "" ? null : range }),
  };
  if (Object.keys(changes).length === 0)
    throw new UsageError("Give at least one of --name, --form-factor, --propulsion and --range.");
  await withSystem(cli, async (context, systemId) => {
    await describeVehicleType(context, systemId, typeId, changes);
    const type = (await allVehicleTypesOf(context.db, systemId)).find((each) => each.id === typeId);
    cli.output.result({ ...type }, typesTable(type === undefined ? [] : [type]));
  });
}

async function listTypes(cli: CliContext): Promise<void> {
  await withSystem(cli, async ({ db }, systemId) => {
    const types = await allVehicleTypesOf(db, systemId);
    const lines = [typesTable(types)];
    const unknown = types.filter((type) => type.form_factor === null || type.propulsion_type === null);
    if (unknown.length > 0) {
      lines.push(
        "",
        `No form or propulsion is known of ${unknown.map(({ id }) => id).join(", ")}; GBFS requires one, so the feeds say bicycle, human.`,
        `Set them: bikeshare vehicle-types set ${unknown[0]?.id ?? ""} --form-factor bicycle --propulsion electric_assist`,
      );
    }
    cli.output.result({ vehicle_types: types }, lines.join("\n"));
  });
}

async function removeType(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    await removeVehicleType(context, systemId, id);
    cli.output.result({ id }, `Removed the description of vehicle type ${id}.`);
  });
}

function typesTable(types: readonly VehicleType[]): string {
  return table(types, {
    id: ({ id }) => id,
    name: ({ name }) => name,
    form: ({ form_factor }) => form_factor,
    propulsion: ({ propulsion_type }) => propulsion_type,
    range: ({ max_range_meters }) => max_range_meters,
  });
}

async function setRegion(cli: CliContext, id: string, name: string): Promise<void> {
  const region = { id: readGivenId(id), name: readValue("--name", name, lineOfText) };
  await withSystem(cli, async (context, systemId) => {
    await nameRegion(context, systemId, region);
    cli.output.result(region, `Region ${region.id} is called ${region.name}.`);
  });
}

async function listRegions(cli: CliContext): Promise<void> {
  await withSystem(cli, async ({ db }, systemId) => {
    const regions = await regionsOf(db, systemId);
    cli.output.result({ regions }, table(regions, { id: ({ id }) => id, name: ({ name }) => name }));
  });
}

async function removeNamedRegion(cli: CliContext, id: string): Promise<void> {
  await withSystem(cli, async (context, systemId) => {
    await removeRegion(context, systemId, id);
    cli.output.result({ id }, `Removed the name of region ${id}.`);
  });
}
