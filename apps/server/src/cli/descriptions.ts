import { formFactor, propulsionType, type VehicleType } from "@bikeshare/contract";
import { nameRegion, regionsOf, removeRegion } from "../city/systems/regions.ts";
import {
  allVehicleTypesOf,
  describeVehicleType,
  removeVehicleType,
  type VehicleTypeChanges,
} from "../city/systems/vehicle-types.ts";
import { integer, oneOf } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, type SystemContext, withSystem } from "./context.ts";
import { lineOfText, option, orEmpty, readGivenId, readValue, UsageError } from "./options.ts";
import { table } from "./output.ts";

/** A number above it is a typing error: no vehicle goes so far. */
const MAX_RANGE_METERS = 10_000_000;

/** `vehicle-types set`, `list` and `remove`. */
export function registerVehicleTypes(program: ParentCommand, cli: OpenCli): void {
  const types = program.command("vehicle-types").description("what the ids of vehicle types mean");
  const forms = formFactor.options;
  const propulsions = propulsionType.options;
  types
    .command("set")
    .description("describe a vehicle type; it takes precedence over feeds. An empty value removes a field")
    .argument("<id>", "the vehicle type's id, as bikes name it")
    .addOption(option("--name <name>", "what riders call it", orEmpty(lineOfText)))
    .addOption(option("--form-factor <word>", `its form: ${forms.join(", ")}`, orEmpty(oneOf(forms))))
    .addOption(option("--propulsion <word>", `what moves it: ${propulsions.join(", ")}`, orEmpty(oneOf(propulsions))))
    .addOption(
      option(
        "--range <metres>",
        "how far it goes when fully charged or fuelled",
        orEmpty(integer(0, MAX_RANGE_METERS)),
      ),
    )
    .action((id, { name, formFactor: form, propulsion, range }) => {
      const typeId = readGivenId(id);
      const changes: VehicleTypeChanges = {
        ...(name === undefined ? {} : { name: name === "" ? null : name }),
        ...(form === undefined ? {} : { form_factor: form === "" ? null : form }),
        ...(propulsion === undefined ? {} : { propulsion_type: propulsion === "" ? null : propulsion }),
        ...(range === undefined ? {} : { max_range_meters: range === "" ? null : range }),
      };
      if (Object.keys(changes).length === 0)
        throw new UsageError("Give at least one of --name, --form-factor, --propulsion and --range.");
      return withSystem(cli(), async (context, systemId) => {
        await describeVehicleType(context, systemId, typeId, changes);
        const described = (await allVehicleTypesOf(context.db, systemId)).filter((type) => type.id === typeId);
        context.output.result({ ...described[0] }, typesTable(described));
      });
    });
  types
    .command("list")
    .description("list every vehicle type that is described, or that is in use")
    .action(() => withSystem(cli(), listTypes));
  types
    .command("remove")
    .description("remove the description of a vehicle type")
    .argument("<id>", "the vehicle type's id")
    .action((id) =>
      withSystem(cli(), async (context, systemId) => {
        await removeVehicleType(context, systemId, id);
        context.output.result({ id }, `Removed the description of vehicle type ${id}.`);
      }),
    );
}

async function listTypes({ db, output }: SystemContext, systemId: string): Promise<void> {
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
  output.result({ vehicle_types: types }, lines.join("\n"));
}

function typesTable(types: readonly VehicleType[]): string {
  return table(types, {
    id: "id",
    name: "name",
    form: "form_factor",
    propulsion: "propulsion_type",
    range: "max_range_meters",
  });
}

/** `regions set`, `list` and `remove`. */
export function registerRegions(program: ParentCommand, cli: OpenCli): void {
  const regions = program.command("regions").description("what the ids of regions mean");
  regions
    .command("set")
    .description("name a region; the name takes precedence over feeds")
    .argument("<id>", "the region's id, as stations name it")
    .requiredOption("--name <name>", "what people call it")
    .action((id, { name }) => {
      const region = { id: readGivenId(id), name: readValue("--name", name, lineOfText) };
      return withSystem(cli(), async (context, systemId) => {
        await nameRegion(context, systemId, region);
        context.output.result(region, `Region ${region.id} is called ${region.name}.`);
      });
    });
  regions
    .command("list")
    .description("list every region that is named, or that a station is in")
    .action(() =>
      withSystem(cli(), async ({ db, output }, systemId) => {
        const listed = await regionsOf(db, systemId);
        output.result({ regions: listed }, table(listed, { id: "id", name: "name" }));
      }),
    );
  regions
    .command("remove")
    .description("remove the name of a region")
    .argument("<id>", "the region's id")
    .action((id) =>
      withSystem(cli(), async (context, systemId) => {
        await removeRegion(context, systemId, id);
        context.output.result({ id }, `Removed the name of region ${id}.`);
      }),
    );
}
