import { factKinds } from "@bikeshare/contract/facts";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useStationMap } from "../../api/station-map.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Form } from "../../components/form.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { Table } from "../../components/table.tsx";
import { showToast } from "../../components/toast.tsx";
import type { Access } from "../../session/session.ts";
import { type Refusal, refusalOf } from "../refusal.ts";
import { useAction } from "../use-action.ts";
import { useFormContext } from "./fact-form.tsx";
import { FactInput } from "./fact-input.tsx";
import { type DescribedThing, ONLY, removeFacts, setFacts, useDescribed } from "./facts-data.ts";
import { FormContext } from "./form-context.ts";
import { draftOf, unreadNumbers, valueOf } from "./form-values.ts";
import { ZoneImport } from "./zone-import.tsx";
import { nameOfZone, type Zone, ZoneMap } from "./zone-map.tsx";
import { indexOfZone, openRule, ruleInWords } from "./zone-rules.ts";

/*
 * All zones of a system are one thing with two facts (values that GBFS publishes about it): `features`, the list of
 * zones, and `global_rules`, the rules outside all zones, here called "elsewhere". Each change saves both facts.
 */

const KIND = "geofencing_zones";
const facts = factKinds[KIND];
/** The type of a zone's properties, such as its name and its rules. */
const properties = facts.features.type.item?.fields?.["properties"]?.type;

interface ViewProps {
  readonly access: Access;
}

/** The view of zones, where riders may ride and park: a map, a list, and the import of a file. */
export function ZonesView({ access }: ViewProps) {
  const { things, error, refetch } = useDescribed(access.systemId, KIND);
  const [described] = things ?? [];
  if (described !== undefined) return <Zones access={access} described={described} />;
  return error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />;
}

function Zones({ access, described }: ViewProps & { readonly described: DescribedThing<typeof KIND> }) {
  const { systemId, canChange } = access;
  const { features: zones = [], global_rules: elsewhere = [openRule] } = described.published;
  const { refused, isPending, change } = useZoneChanges(systemId);
  // The opened zone, with all zones as they were when it was opened.
  const [opened, setOpened] = useState<{ readonly index: number; readonly of: typeof described }>();
  const close = () => setOpened(undefined);
  const context = useFormContext(systemId, refused ? [refused] : []);
  /** The zone whose form is open. */
  const current = opened?.of.published.features?.[opened.index];
  // Where the opened zone is in the present list, which others may have changed. If they changed or removed this zone, saving
  // is based on the list as it was opened, which the service refuses.
  const found = current === undefined ? -1 : indexOfZone(zones, current, opened?.index ?? 0);
  const base = found === -1 ? opened : { index: found, of: described };
  return (
    <FormContext.Provider value={context}>
      <section class="stack">
        <h2 class="visually-hidden">The map and the list</h2>
        {zones.length > 0 && <ZonesInCity zones={zones} systemId={systemId} />}
        {refused !== undefined && current === undefined && (
          <Notice tone="danger" title={placeInWords(refused.path)}>
            {refused.message}
          </Notice>
        )}
        <ZoneList
          zones={zones}
          canChange={canChange}
          onOpen={(index) => setOpened({ index, of: described })}
          onRemove={(zone) => void change(described, { features: zones.filter((each) => each !== zone) }, close)}
        />
        {current !== undefined && base !== undefined && (
          <ZoneForm
            key={opened?.index}
            zone={current}
            index={base.index}
            isPending={isPending}
            onSave={(zone) => {
              const { features = [] } = base.of.published;
              return change(base.of, { features: features.with(base.index, zone) }, close);
            }}
            onCancel={close}
          />
        )}
        {canChange && (
          <ZoneInputs
            {...{ zones, elsewhere, isPending, close }}
            change={(changed, onDone) => change(described, changed, onDone)}
          />
        )}
      </section>
    </FormContext.Provider>
  );
}

interface ZoneInputsProps {
  readonly zones: readonly Zone[];
  /** The rules outside all zones. */
  readonly elsewhere: readonly unknown[];
  readonly isPending: boolean;
  readonly change: (changed: ZoneChange, onDone: () => void) => Promise<unknown>;
  /** Closes the form of an opened zone. */
  readonly close: () => void;
}

/** The import of zones, and the form for the rules outside all zones. */
function ZoneInputs({ zones, elsewhere, isPending, change, close }: ZoneInputsProps) {
  return (
    <>
      <ZoneImport
        count={zones.length}
        isPending={isPending}
        onSave={(read, replaces, onDone) => void change({ features: replaces ? read : [...zones, ...read] }, onDone)}
      />
      {zones.length > 0 && (
        <Elsewhere
          // Renders the form anew when the saved rules change.
          key={JSON.stringify(elsewhere)}
          rules={elsewhere}
          isPending={isPending}
          onSave={(rules) => change({ global_rules: rules }, close)}
        />
      )}
    </>
  );
}

/** The zones on the map of the city's stations. */
function ZonesInCity({ zones, systemId }: { readonly zones: readonly Zone[]; readonly systemId: string }) {
  return <ZoneMap zones={zones} map={useStationMap(systemId)} />;
}

/** A change to the zones, or to the rules outside all zones. */
interface ZoneChange {
  readonly features?: readonly unknown[];
  readonly global_rules?: readonly unknown[];
}

/** Saves the zones, and keeps the error if the service rejects them. `seen` are the facts on which the change is based. */
function useZoneChanges(systemId: string) {
  const [refused, setRefused] = useState<Refusal>();
  const { run, isPending } = useAction();
  const change = (seen: DescribedThing<typeof KIND>, changed: ZoneChange, onDone: () => void) =>
    run(async () => {
      const { features = [], global_rules = [openRule] } = { ...seen.published, ...changed };
      const [unread] = [
        ...unreadNumbers(facts.features.type, "features", changed.features),
        ...unreadNumbers(facts.global_rules.type, "global_rules", changed.global_rules),
      ];
      const send = async () => {
        // Without zones, the rules outside them are removed too.
        if (features.length === 0) await removeFacts(systemId, KIND, ONLY, seen.version);
        else await setFacts(systemId, KIND, ONLY, { features, global_rules }, seen.version);
      };
      const failure = unread ?? (await refusalOf(send));
      setRefused(failure);
      if (failure !== undefined) return;
      showToast("success", "Saved. The feeds show it within a minute.");
      onDone();
    });
  return { refused, isPending, change };
}

interface ZoneListProps {
  readonly zones: readonly Zone[];
  readonly canChange: boolean;
  readonly onOpen: (index: number) => void;
  readonly onRemove: (zone: Zone) => void;
}

function ZoneList({ zones, canChange, onOpen, onRemove }: ZoneListProps) {
  return (
    <Table
      caption="Zones"
      rows={zones.map((zone, index) => ({ zone, index, name: nameOfZone(zone, index) }))}
      rowKey={({ index }) => String(index)}
      empty={<EmptyState title="No zones">Draw them in any map program, and import its GeoJSON.</EmptyState>}
      columns={[
        { id: "name", title: "Zone", cell: ({ name }) => name },
        { id: "rule", title: "Rule", cell: ({ zone }) => ruleInWords(zone.properties?.rules) },
        {
          id: "change",
          title: "",
          align: "end",
          cell: ({ zone, index, name }) =>
            canChange && (
              <div class="row">
                <Button label={`Change ${name}`} onClick={() => onOpen(index)}>
                  Change
                </Button>
                <Button label={`Remove ${name}`} onClick={() => onRemove(zone)}>
                  Remove
                </Button>
              </div>
            ),
        },
      ]}
    />
  );
}

/** Names the zone that an error is about: `features[0].geometry` is "Zone 1 of the list". */
function placeInWords(path: string): string {
  const [, index] = /^features\[(\d+)\]/.exec(path) ?? [];
  return index === undefined ? "The rules elsewhere" : `Zone ${Number(index) + 1} of the list`;
}

interface ZoneFormProps {
  readonly zone: Zone;
  readonly index: number;
  readonly isPending: boolean;
  readonly onSave: (zone: Zone) => Promise<unknown>;
  readonly onCancel: () => void;
}

function ZoneForm({ zone, index, isPending, onSave, onCancel }: ZoneFormProps) {
  // The table of facts has `properties`, which its type does not tell.
  const type = properties ?? facts.features.type;
  const [draft, setDraft] = useState(() => draftOf(type, zone.properties));
  const form = useRef<HTMLDivElement>(null);
  // Takes the focus before the first painting. Later, it could take it from a field in which somebody already types.
  useLayoutEffect(() => form.current?.querySelector("input")?.focus(), []);
  return (
    <div ref={form} class="card fact-form">
      <Form onSubmit={() => onSave({ ...zone, properties: valueOf(type, draft) ?? {} })}>
        <FactInput
          type={type}
          path={`features[${index}].properties`}
          label={nameOfZone(zone, index)}
          hint="Planners read the first rule: put the one for all types first."
          draft={draft}
          published={undefined}
          onChange={setDraft}
        />
        <div class="row">
          <Button type="submit" variant="primary" pending={isPending}>
            Save the zone
          </Button>
          <Button onClick={onCancel}>Cancel</Button>
        </div>
      </Form>
    </div>
  );
}

interface ElsewhereProps {
  readonly rules: readonly unknown[];
  readonly isPending: boolean;
  readonly onSave: (rules: readonly unknown[]) => Promise<unknown>;
}

/** The form for the rules outside all zones. */
function Elsewhere({ rules, isPending, onSave }: ElsewhereProps) {
  const { type, label, about } = facts.global_rules;
  const [draft, setDraft] = useState(() => draftOf(type, rules));
  return (
    <section class="stack fact-form">
      <h2>{label}</h2>
      <Form onSubmit={() => onSave((valueOf(type, draft) ?? []) as readonly unknown[])}>
        <FactInput
          type={type}
          path="global_rules"
          label={about}
          draft={draft}
          published={undefined}
          onChange={setDraft}
        />
        <div class="row">
          <Button type="submit" pending={isPending}>
            Save the rules
          </Button>
        </div>
      </Form>
    </section>
  );
}
