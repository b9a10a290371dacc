import { useRef, useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { SelectField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { type ReadZone, zonesFrom } from "./geojson.ts";
import { openRule, zoneLooks } from "./zone-rules.ts";

interface ZoneImportProps {
  /** The number of existing zones. */
  readonly count: number;
  readonly isPending: boolean;
  readonly onSave: (zones: readonly ReadZone[], replaces: boolean, onDone: () => void) => void;
}

/** Imports the zones of a GeoJSON file. Asks for a rule for zones that have none. */
export function ZoneImport({ count, isPending, onSave }: ZoneImportProps) {
  const [read, setRead] = useState<readonly ReadZone[]>();
  const [isWrong, setWrong] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const open = async (file: File | undefined) => {
    if (file === undefined) return;
    const zones = zonesFrom(await file.text());
    setRead(zones);
    setWrong(zones === undefined);
  };
  const close = () => {
    setRead(undefined);
    if (input.current !== null) input.current.value = "";
  };
  return (
    <section class="stack fact-form">
      <h2>Import zones</h2>
      <div class="field">
        <label for="zones-file">GeoJSON file</label>
        <input
          ref={input}
          id="zones-file"
          type="file"
          class="fact-file"
          accept=".json,.geojson,application/json,application/geo+json"
          aria-invalid={isWrong || undefined}
          aria-describedby={isWrong ? "zones-file-error" : "zones-file-hint"}
          onChange={(event) => void open(event.currentTarget.files?.[0])}
        />
        <p id="zones-file-hint" class="field-hint">
          Polygons in degrees (WGS 84), such as geojson.io or QGIS write them, or a GBFS document.
        </p>
        {isWrong && (
          <p id="zones-file-error" class="field-error" role="alert">
            The file has no polygon in it. Export the zones as GeoJSON.
          </p>
        )}
      </div>
      {read !== undefined && (
        <ZoneQuestions
          zones={read}
          count={count}
          isPending={isPending}
          onSave={(zones, replaces) => onSave(zones, replaces, close)}
          onCancel={close}
        />
      )}
    </section>
  );
}

interface ZoneQuestionsProps {
  readonly zones: readonly ReadZone[];
  readonly count: number;
  readonly isPending: boolean;
  readonly onSave: (zones: readonly ReadZone[], replaces: boolean) => void;
  readonly onCancel: () => void;
}

/** Asks for what the file does not say: the rule for zones without one, and whether the existing zones are kept. */
function ZoneQuestions({ zones, count, isPending, onSave, onCancel }: ZoneQuestionsProps) {
  // The id of the rule that zones without one get, in `zoneLooks`.
  const [look, setLook] = useState("no-end");
  const [mode, setMode] = useState("add");
  /** The number of zones without a rule. */
  const bare = zones.filter(({ properties: { rules } }) => rules === undefined).length;
  const rule = zoneLooks.find(({ id }) => id === look)?.rule ?? openRule;
  // A zone's own rules replace the chosen one, because its properties are spread last.
  const ruled = zones.map((zone) => ({ ...zone, properties: { rules: [rule], ...zone.properties } }));
  return (
    <Form onSubmit={() => onSave(ruled, mode === "replace")}>
      {bare > 0 && (
        <SelectField
          label={`Rule of the ${bare === 1 ? "zone" : `${bare} zones`} without one`}
          value={look}
          choices={zoneLooks.map(({ id, title, choice = title }) => ({ value: id, label: choice }))}
          onChange={setLook}
        />
      )}
      {count > 0 && (
        <SelectField
          label={count === 1 ? "The existing zone" : `The ${count} existing zones`}
          value={mode}
          choices={[
            { value: "add", label: "Keep" },
            { value: "replace", label: "Replace" },
          ]}
          onChange={setMode}
        />
      )}
      <div class="row">
        <Button type="submit" variant="primary" pending={isPending}>
          {`Import ${zones.length === 1 ? "1 zone" : `${zones.length} zones`}`}
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </Form>
  );
}
