import type { ShownUpload, UploadResult } from "@bikeshare/contract/console";
import { MAX_TIME_ZONE } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { api } from "../../api/api.ts";
import { Button } from "../../components/button.tsx";
import { visibleControls } from "../../components/code.tsx";
import { Facts } from "../../components/facts.tsx";
import { TextField } from "../../components/field.tsx";
import { Form } from "../../components/form.tsx";
import { Notice } from "../../components/notice.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import "../facts.css";
import { useRefusal } from "../refusal.ts";

/* The result of a trial: the service has read an uploaded trip file as an import would, without storing anything. */

/** The actions on an upload, for readers who may change things. */
export interface UploadActions {
  /** Runs a change, and reads the upload again. */
  readonly act: (work: () => Promise<unknown>) => Promise<unknown>;
  readonly discard: () => void;
  readonly isPending: boolean;
}

interface TrialResultProps {
  readonly systemId: string;
  readonly upload: ShownUpload;
  /** Undefined: the reader may not change anything. */
  readonly actions: UploadActions | undefined;
}

const number = (n: number) => n.toLocaleString("en");
const words = (reason: string) => reason.replaceAll("_", " ");
const ridesText = (n: number) => `${number(n)} ${n === 1 ? "ride" : "rides"}`;

/** Shows what the import of a file would do, with buttons to import or discard the file. */
export function TrialResult({ systemId, upload, actions }: TrialResultProps) {
  const { id, result } = upload;
  // The time zone in the form that tries the file again. Undefined: the form is closed. A new trial unmounts this component.
  const [zone, setZone] = useState<string>();
  if (result === null) return null;
  const params = { system_id: systemId, id };
  return (
    <div class="card stack">
      <TrialHead upload={upload} created={result.created} params={params} actions={actions} />
      <TrialNotices result={result} />
      {result.rows > 0 && (
        <ResultFacts upload={upload} result={result} onChangeZone={actions && (() => setZone(upload.time_zone))} />
      )}
      {actions !== undefined && zone !== undefined && (
        <ZoneForm zone={zone} params={params} actions={actions} onChange={setZone} />
      )}
      {result.entries.length > 0 && (
        <Table
          caption="The first things that are wrong"
          columns={columns}
          rows={result.entries}
          rowKey={(entry) => JSON.stringify(entry)}
          empty={null}
        />
      )}
    </div>
  );
}

interface TrialHeadProps extends Pick<TrialResultProps, "upload" | "actions"> {
  readonly created: number;
  readonly params: { readonly system_id: string; readonly id: string };
}

function TrialHead({ upload: { file_name: name }, created, params, actions }: TrialHeadProps) {
  const what = created > 0 ? ridesText(created) : "Nothing";
  return (
    <header class="page-header">
      <div>
        <h3>
          {what} of {name} would be imported
        </h3>
        <p class="muted">A trial: nothing is stored yet.</p>
      </div>
      {actions !== undefined && (
        <div class="row">
          <Button onClick={actions.discard}>Discard</Button>
          {created > 0 && (
            <Button
              variant="primary"
              pending={actions.isPending}
              onClick={() => void actions.act(() => api.uploads.start({ params, body: {} }))}
            >
              Import {ridesText(created)}
            </Button>
          )}
        </div>
      )}
    </header>
  );
}

function TrialNotices({ result }: { readonly result: UploadResult }) {
  const { created, unchanged, refused, refused_count: refusedCount, time_shift: shift } = result;
  return (
    <>
      {refused.map(({ file, message }) => (
        <Notice key={file} tone="danger" title={`${file} is refused`}>
          {visibleControls(message)}
        </Notice>
      ))}
      {refusedCount > refused.length && <p>And {number(refusedCount - refused.length)} other files.</p>}
      {created === 0 && unchanged > 0 && (
        <Notice tone="info">All {ridesText(unchanged)} are stored already, from an earlier import.</Notice>
      )}
      {shift !== null && <ShiftNotice shift={shift} />}
    </>
  );
}

/** Asks whether the time zone is right: the file has rides that are stored already, at times that differ by some hours. */
function ShiftNotice({ shift: { rows, seconds } }: { readonly shift: NonNullable<UploadResult["time_shift"]> }) {
  const hours = Number((Math.abs(seconds) / 3600).toFixed(2));
  return (
    <Notice tone="warning" title="Is this the right time zone?">
      {number(rows)} rows have the ids of rides that are stored {hours} h {seconds < 0 ? "earlier" : "later"}.
    </Notice>
  );
}

interface ResultFactsProps {
  readonly upload: ShownUpload;
  readonly result: UploadResult;
  readonly onChangeZone: (() => void) | undefined;
}

function ResultFacts({ upload, result, onChangeZone }: ResultFactsProps) {
  const { first_at: first, last_at: last, formats } = result;
  const counted = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts)
      .toSorted(([, a], [, b]) => b - a)
      .map(([reason, n]) => <div key={reason}>{`${number(n)} ${words(reason)}`}</div>);
  const dropped = formats.flatMap((format) => format.dropped);
  return (
    <Facts
      facts={[
        ["Rows read", number(result.rows)],
        ["Would be imported", number(result.created)],
        ["Stored already", number(result.unchanged)],
        ["Rejected", result.rejected === 0 ? "0" : counted(result.reasons)],
        ["New stations", number(result.stations_created)],
        ["Warnings", Object.keys(result.warnings).length === 0 ? "0" : counted(result.warnings)],
        ["First ride", first === null ? null : <Time at={first} show="both" />],
        ["Last ride", last === null ? null : <Time at={last} show="both" />],
        [
          "Time zone",
          <>
            {upload.time_zone}{" "}
            {onChangeZone && (
              <button type="button" class="link-button" onClick={onChangeZone}>
                Change
              </button>
            )}
          </>,
        ],
        [
          "Recognised as",
          formats.map(({ name, columns }) => (
            <div key={name} title={columns.join(", ")}>
              {name}
            </div>
          )),
        ],
        ...(dropped.length === 0 ? [] : ([["Columns not kept", dropped.join(", ")]] as const)),
      ]}
    />
  );
}

interface ZoneFormProps {
  readonly zone: string;
  readonly params: { readonly system_id: string; readonly id: string };
  readonly actions: UploadActions;
  readonly onChange: (zone: string | undefined) => void;
}

/** A form that tries the file again with another time zone. */
function ZoneForm({ zone, params, actions, onChange }: ZoneFormProps) {
  const body = { time_zone: zone };
  const { refusing, errorOf } = useRefusal(body);
  const tryAgain = () => actions.act(() => refusing(async () => void (await api.uploads.try({ params, body }))));
  return (
    <Form onSubmit={tryAgain}>
      <TextField
        label="Time zone of the file"
        hint="Of the IANA list, such as America/New_York."
        error={errorOf("time_zone")}
        value={zone}
        required
        maxLength={MAX_TIME_ZONE}
        onInput={onChange}
      />
      <div class="row">
        <Button onClick={() => onChange(undefined)}>Cancel</Button>
        <Button type="submit" pending={actions.isPending}>
          Try again
        </Button>
      </div>
    </Form>
  );
}

const columns: readonly Column<UploadResult["entries"][number]>[] = [
  { id: "line", title: "Where", cell: ({ line, file }) => (line === null ? file : `Line ${line}`) },
  { id: "column", title: "Column", cell: ({ column }) => column },
  { id: "value", title: "Value", cell: ({ value }) => value !== null && visibleControls(value) },
  { id: "reason", title: "Reason", cell: ({ reason }) => words(reason) },
  { id: "outcome", title: "Then", cell: ({ outcome }) => (outcome === "warning" ? "imported all the same" : outcome) },
];
