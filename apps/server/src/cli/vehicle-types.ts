import { formFactor, propulsionType } from "@bikeshare/contract";
import {
  allVehicleTypesOf,
  describeVehicleType,
  removeVehicleType,
  type VehicleTypeChanges,
} from "../city/systems/vehicle-types.ts";
import { integer, oneOf } from "../runtime/startup/values.ts";
import { type OpenCli, type ParentCommand, runOnSystem, type SystemContext } from "./context.ts";
import { lineOfText, option, orEmpty, readGivenId, UsageError } from "./options.ts";
import { type Result, table } from "./output.ts";

/** Too high: a typing error passes. No vehicle goes so far. */
const MAX_RANGE_METERS = 10_000_000;

/** `vehicle-types set`, `list` and `remove`. */
export function registerVehicleTypes(program: ParentCommand, cli: OpenCli): void {
  const types = program.command("vehicle-types").description("manage the vehicle types that GBFS publishes");
  const forms = formFactor.options;
  const propulsions = propulsionType.options;
  types
    .command("set")
    .description("describe a vehicle type; its fields take precedence over imported feeds, an empty value clears one")
    .argument("<id>", "the vehicle type's id, as bikes refer to it")
    .addOption(option("--name <name>", "the name that riders see", orEmpty(lineOfText)))
    .addOption(option("--form-factor <word>", `one of ${forms.join(", ")}`, orEmpty(oneOf(forms))))
    .addOption(option("--propulsion <word>", `one of ${propulsions.join(", ")}`, orEmpty(oneOf(propulsions))))
    .addOption(option("--range <metres>", "range with a full battery or tank", orEmpty(integer(0, MAX_RANGE_METERS))))
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
      return runOnSystem(cli(), async (context) => {
        await describeVehicleType(context, context.systemId, typeId, changes);
        const described = (await allVehicleTypesOf(context.db, context.systemId)).find((type) => type.id === typeId);
        return { object: { ...described } };
      });
    });
  types
    .command("list")
    .description("list every vehicle type that is described or in use")
    .action(() => runOnSystem(cli(), list));
  types
    .command("remove")
    .description("remove the description of a vehicle type")
    .argument("<id>", "the vehicle type's id")
    .action((id) =>
      runOnSystem(cli(), async (context) => {
        await removeVehicleType(context, context.systemId, id);
        return { object: { id }, text: `Removed the description of vehicle type ${id}.` };
      }),
    );
}

async function list({ db, systemId, systemOption }: SystemContext): Promise<Result> {
  const types = await allVehicleTypesOf(db, systemId);
  const columns = {
    id: "id",
    name: "name",
    form: "form_factor",
    propulsion: "propulsion_type",
    "range in metres": "max_range_meters",
  } as const;
  const unknown = types.filter((type) => type.form_factor === null || type.propulsion_type === null);
  const notes = [
    `The form or the propulsion of ${unknown.map(({ id }) => id).join(", ")} is unknown. GBFS requires both, so the feeds say bicycle, human.`,
    `Set them: bikeshare ${systemOption}vehicle-types set ${unknown[0]?.id ?? ""} --form-factor bicycle --propulsion electric_assist`,
  ];
  return {
    object: { vehicle_types: types },
    table: table(types, columns, "No vehicle types."),
    notes: unknown.length === 0 ? [] : notes,
  };
}
