import fc from "fast-check";
import { z } from "zod";

/** Values that exist in the fuzzed deployment, such as ids and cursors, so that not all requests end with a 404. */
export interface KnownValues {
  /** Ids of stations, bikes, rides, reservations and events. */
  readonly ids: readonly string[];
  readonly systemIds: readonly string[];
  readonly partnerIds: readonly string[];
  /** Cursors of several lists and partners. */
  readonly cursors: readonly string[];
}

/** Draws values for a field by its name, if random values of its schema would seldom be valid. */
function hintFor(name: string, known: KnownValues): fc.Arbitrary<unknown> | undefined {
  if (name === "cursor" || name === "after") return fc.constantFrom(...known.cursors, ...known.ids);
  if (name === "system_id") return fc.constantFrom(...known.systemIds);
  if (name === "partner_id") return fc.constantFrom(...known.partnerIds);
  if (name === "page" || name === "limit") return fc.constantFrom("1", "2", "200", "9007199254740991");
  if (name === "bbox") return fc.constantFrom("-180,-90,180,90", "0,0,1,1");
  if (name === "feed")
    return fc.constantFrom("gbfs.json", "station_status.json", "station_information.json", "free_bike_status.json");
  if (name === "email") return fc.constantFrom("ada@example.com", "nobody@example.com");
  if (name === "url")
    return fc.constantFrom("http://127.0.0.1:9/hook", "https://127.0.0.1:9/", "http://169.254.169.254/");
  if (name === "events") return fc.constantFrom(["ride.completed"], ["station.offline", "ride.started"], []);
  if (name === "scopes") return fc.constantFrom(["rides:read"], ["stations:read", "bikes:read"]);
  if (/(_at|since|until|after|before|from|to)$/.test(name))
    return fc.constantFrom("2026-06-01T12:00:00.000Z", "2026-05-01T00:00:00+02:00", "2026-05-01");
  return undefined;
}

const SHORT_TEXTS = ["a", "Centre", "Ada Lovelace", "2", "correct horse battery staple"];

/** Draws values, most of which a schema of the contract accepts. */
export function valuesOf(schema: z.ZodTypeAny, known: KnownValues, name = ""): fc.Arbitrary<unknown> {
  const inner = (of: z.ZodTypeAny) => valuesOf(of, known, name);
  if (schema instanceof z.ZodOptional) return fc.option(inner(schema.unwrap() as z.ZodTypeAny), { nil: undefined });
  if (schema instanceof z.ZodNullable) return fc.option(inner(schema.unwrap() as z.ZodTypeAny), { nil: null });
  if (schema instanceof z.ZodDefault) return inner(schema.removeDefault() as z.ZodTypeAny);
  if (schema instanceof z.ZodEffects) return inner(schema.innerType() as z.ZodTypeAny);
  if (schema instanceof z.ZodUnion) return fc.oneof(...(schema.options as z.ZodTypeAny[]).map(inner));
  if (schema instanceof z.ZodDiscriminatedUnion) return fc.oneof(...(schema.options as z.ZodTypeAny[]).map(inner));
  if (schema instanceof z.ZodEnum) return fc.constantFrom(...(schema.options as string[]));
  if (schema instanceof z.ZodLiteral) return fc.constant(schema.value);
  if (schema instanceof z.ZodObject) return objects(schema.shape as Record<string, z.ZodTypeAny>, known);
  const hint = hintFor(name, known);
  if (hint !== undefined) return hint;
  if (schema instanceof z.ZodArray)
    return fc.array(inner(schema.element as z.ZodTypeAny), { minLength: 1, maxLength: 3 });
  if (schema instanceof z.ZodNumber) return numbers(schema);
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodString) return fc.constantFrom(...known.ids, ...SHORT_TEXTS);
  if (schema instanceof z.ZodRecord)
    return fc.dictionary(fc.constantFrom("a", "b"), inner(schema.valueSchema as z.ZodTypeAny));
  return fc.jsonValue({ maxDepth: 2 });
}

function objects(shape: Record<string, z.ZodTypeAny>, known: KnownValues): fc.Arbitrary<unknown> {
  return fc.record(Object.fromEntries(Object.entries(shape).map(([key, of]) => [key, valuesOf(of, known, key)])));
}

function numbers({ minValue, maxValue }: z.ZodNumber): fc.Arbitrary<number> {
  const max = Math.min(maxValue ?? 1_000, 2 ** 31);
  return fc.integer({ min: Math.ceil(minValue ?? Math.min(-1_000, max)), max: Math.floor(max) });
}
