import type { StationMap, Webhook } from "@bikeshare/contract/console";
import { MAX_FEWER_THAN, MAX_FOR_MINUTES } from "@bikeshare/contract/pure";
import { api } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { type Choice, SelectField, TextField } from "../../components/field.tsx";
import { PickField } from "../../components/pick-field.tsx";
import type { Refusals } from "../refusal.ts";
import type { PartnerParams } from "./webhook-client.ts";

type Threshold = Webhook["thresholds"][number];

/** The typed values of a threshold. The page calls a threshold an alarm. */
export interface GivenThreshold {
  /** What is counted: `bikes` or `docks`. */
  readonly count: string;
  readonly fewerThan: string;
  readonly minutes: string;
  /** Stations and regions, in the form of `placeOf`. Empty: every station. */
  readonly places: readonly string[];
}

/** A station or region as one text, so that one field can hold both: `station 12`. */
const placeOf = (kind: "station" | "region", id: string) => `${kind} ${id}`;
const idsOf = (kind: "station" | "region", places: readonly string[]) =>
  places.filter((place) => place.startsWith(`${kind} `)).map((place) => place.slice(kind.length + 1));

/** Returns the thresholds of a webhook as the values of the form's fields. */
export function givenThresholds(thresholds: readonly Threshold[]): GivenThreshold[] {
  return thresholds.map(({ count, fewer_than, for_minutes, station_ids, region_ids }) => ({
    count,
    fewerThan: String(fewer_than),
    minutes: String(for_minutes),
    places: [...region_ids.map((id) => placeOf("region", id)), ...station_ids.map((id) => placeOf("station", id))],
  }));
}

/** Returns the thresholds that were typed. */
export function thresholdsOf(given: readonly GivenThreshold[]): Threshold[] {
  return given.map(({ count, fewerThan, minutes, places }) => ({
    count: count === "docks" ? "docks" : "bikes",
    fewer_than: Number(fewerThan),
    for_minutes: Number(minutes),
    station_ids: idsOf("station", places),
    region_ids: idsOf("region", places),
  }));
}

/** The proposed alarm: a station without a bike for ten minutes. */
const EMPTY_STATION: GivenThreshold = { count: "bikes", fewerThan: "1", minutes: "10", places: [] };
const counts = [
  { value: "bikes", label: "bikes" },
  { value: "docks", label: "free docks" },
];

interface ThresholdFieldsProps {
  readonly params: PartnerParams;
  readonly thresholds: readonly GivenThreshold[];
  readonly errorOf: Refusals["errorOf"];
  readonly onChange: (thresholds: readonly GivenThreshold[]) => void;
}

/** Inputs for thresholds: when to report a station that has had too few bikes or docks for some minutes. */
export function ThresholdFields({ params, thresholds, errorOf, onChange }: ThresholdFieldsProps) {
  const { data } = useQuery({
    queryKey: ["webhook-stations", params],
    queryFn: ({ signal }) => api.partnerStations.list({ params, signal }),
    staleTime: Infinity,
    // Loads the long list of stations only if there is a threshold.
    enabled: thresholds.length > 0,
  });
  const choices = data && choicesIn(data);
  const errors = thresholds.map((_, index) => errorOf(`thresholds.${index}`));
  // An error of one alarm is shown with that alarm, not above the list.
  const error = errors.some(Boolean) ? undefined : errorOf("thresholds");
  return (
    <fieldset class="stack webhook-alarms" data-wrong={error && "true"}>
      <legend>Alarms of stations</legend>
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      {thresholds.map((threshold, index) => (
        <Alarm
          key={index}
          number={index + 1}
          threshold={threshold}
          choices={choices}
          error={errors[index]}
          onChange={(changed) =>
            onChange(thresholds.map((each, at) => (at === index ? { ...each, ...changed } : each)))
          }
          onRemove={() => onChange(thresholds.filter((_, at) => at !== index))}
        />
      ))}
      <div class="row">
        <Button onClick={() => onChange([...thresholds, EMPTY_STATION])}>Add an alarm</Button>
        <span class="muted">Such as: fewer than 1 bike for 10 minutes.</span>
      </div>
    </fieldset>
  );
}

interface AlarmProps {
  readonly number: number;
  readonly threshold: GivenThreshold;
  /** The stations and regions to choose from; undefined until they are loaded. */
  readonly choices: readonly Choice[] | undefined;
  /** The error of the places. The browser checks the numbers. */
  readonly error: string | undefined;
  readonly onChange: (changed: Partial<GivenThreshold>) => void;
  readonly onRemove: () => void;
}

function Alarm({ number, threshold, choices, error, onChange, onRemove }: AlarmProps) {
  const { count, fewerThan, minutes, places } = threshold;
  return (
    <fieldset class="stack">
      <legend class="muted">{`Alarm ${number}`}</legend>
      <div class="webhook-alarm">
        <TextField
          label="Fewer than"
          type="number"
          min={1}
          max={MAX_FEWER_THAN}
          value={fewerThan}
          onInput={(value) => onChange({ fewerThan: value })}
          required
        />
        <SelectField label="Of" value={count} choices={counts} onChange={(value) => onChange({ count: value })} />
        <TextField
          label="For minutes"
          type="number"
          min={1}
          max={MAX_FOR_MINUTES}
          value={minutes}
          onInput={(value) => onChange({ minutes: value })}
          required
        />
      </div>
      <PickField
        label="At"
        hint="Names of stations or regions; every station, when empty"
        error={error}
        choices={choices}
        chosen={places}
        onChange={(chosen) => onChange({ places: chosen })}
      />
      <div class="row">
        <Button variant="quiet" label={`Remove alarm ${number}`} onClick={onRemove}>
          Remove
        </Button>
      </div>
    </fieldset>
  );
}

function choicesIn({ data, regions }: StationMap): Choice[] {
  return [
    ...regions.map(({ id, name }) => ({ value: placeOf("region", id), label: `Region ${name}` })),
    ...data.map(({ id, name }) => ({ value: placeOf("station", id), label: name })),
  ];
}
