import type { WebhookPlaces, WebhookPreview } from "@bikeshare/contract/console";
import { BOUNDING_BOX } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/field.tsx";
import { countDeliveries } from "../deliveries/words.ts";
import type { Refusals } from "../refusal.ts";
import { useAction } from "../use-action.ts";
import type { WebhookClient, WebhookTarget } from "./webhook-client.ts";

/** The typed values that limit events to stations, regions or a bounding box. */
export interface GivenPlaces {
  readonly stations: string;
  readonly regions: string;
  readonly bbox: string;
}

/** Returns the places of a webhook as the texts of the form's fields. */
export function givenPlaces(places: WebhookPlaces): GivenPlaces {
  const { station_ids: stations = [], region_ids: regions = [], bbox = null } = places ?? {};
  return { stations: stations.join(", "), regions: regions.join(", "), bbox: bbox ?? "" };
}

/** Returns the typed places. Null: none were typed, so events are not limited to places. */
export function placesOf({ stations, regions, bbox }: GivenPlaces): WebhookPlaces {
  const [station_ids, region_ids] = [idsIn(stations), idsIn(regions)];
  const box = bbox.trim() === "" ? null : bbox.trim();
  const isUnlimited = station_ids.length === 0 && region_ids.length === 0 && box === null;
  return isUnlimited ? null : { station_ids, region_ids, bbox: box };
}

function idsIn(text: string): string[] {
  return text
    .split(",")
    .map((id) => id.trim())
    .filter((id) => id !== "");
}

interface PlacesFieldsProps {
  readonly places: GivenPlaces;
  readonly errorOf: Refusals["errorOf"];
  readonly onChange: (places: GivenPlaces) => void;
}

/** Inputs that limit events to places. Collapsed at first if there is no limit, because few partners want one. */
export function PlacesFields({ places, errorOf, onChange }: PlacesFieldsProps) {
  // The state at first: a section that was open stays open when the reader empties its fields.
  const [isOpen] = useState(placesOf(places) !== null);
  const field = (name: keyof GivenPlaces, path: string, label: string, hint: string, pattern?: string) => (
    <TextField
      label={label}
      hint={hint}
      error={errorOf(`places.${path}`)}
      value={places[name]}
      onInput={(value) => onChange({ ...places, [name]: value })}
      monospace
      {...(pattern !== undefined && { pattern })}
    />
  );
  return (
    <details open={isOpen}>
      <summary>Only events of some places</summary>
      <div class="stack">
        <p class="muted">A ride counts where it starts and where it ends. Any of these suffices; empty: everywhere.</p>
        {field("stations", "station_ids", "Stations", "Ids, with commas between them")}
        {field("regions", "region_ids", "Regions", "Ids, with commas between them")}
        {field("bbox", "bbox", "Box", "min_lon,min_lat,max_lon,max_lat", BOUNDING_BOX.source)}
      </div>
    </details>
  );
}

interface PreviewButtonProps {
  readonly target: WebhookTarget;
  readonly client: Pick<WebhookClient, "preview">;
  /** The typed rules of what is sent. */
  readonly what: Parameters<WebhookClient["preview"]>[0]["body"];
  /** Runs a request. If the service rejects a value, shows the error at the value's field. */
  readonly refusing: Refusals["refusing"];
}

/** A button that counts how many deliveries the typed settings would have sent in the last 24 hours. */
export function PreviewButton({ target, client, what, refusing }: PreviewButtonProps) {
  // The latest count, with the counted settings: while the form has other settings, the count is hidden.
  const [counted, setCounted] = useState<{ readonly settings: string; readonly preview: WebhookPreview }>();
  const { run, isPending } = useAction();
  const settings = JSON.stringify(what);
  const count = () =>
    run(() => refusing(async () => setCounted({ settings, preview: await client.preview({ ...target, body: what }) })));
  return (
    <div class="row">
      <Button pending={isPending} disabled={what.events.length === 0} onClick={() => void count()}>
        Preview
      </Button>
      {counted?.settings === settings && <span role="status">{previewText(counted.preview)}</span>}
    </div>
  );
}

function previewText({ deliveries, skipped, is_complete: isComplete }: WebhookPreview): string {
  const count = `${isComplete ? "" : "at least "}${countDeliveries(deliveries)}`;
  const beyond = skipped === 0 ? "" : `, and skipped ${skipped.toLocaleString("en")}`;
  return `In the last 24 hours this would have sent ${count}${beyond}; station.updated and bike.state_changed are not counted.`;
}
