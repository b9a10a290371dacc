import type { ShownUpload } from "@bikeshare/contract/console";
import { useEffect, useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { Button, ButtonLink } from "../../components/button.tsx";
import { Icon } from "../../components/icon.tsx";
import { Notice } from "../../components/notice.tsx";
import { showToast } from "../../components/toast.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import type { Access } from "../../session/session.ts";
import { sizeText } from "../exports/words.ts";
import { useAction } from "../use-action.ts";
import { useImport } from "./import-data.ts";
import { sendFile, type Sending, sendingKey, stopSending } from "./send-file.ts";
import { TrialResult, type UploadActions } from "./trial-result.tsx";
import "./upload.css";

/** Milliseconds between two reads while an upload is in progress. */
const POLL_MS = 1_000;

/**
 * Imports a trip file in steps: choose the file, upload it, look at the result of a trial (the service has read the
 * file without storing anything), import it.
 */
export function UploadPanel({ access: { systemId, canChange } }: { readonly access: Access }) {
  const key = ["upload", systemId];
  const { data } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.uploads.get({ params: { system_id: systemId }, signal }),
    refetchInterval: ({ state }) => (isUnderWay(state.data?.upload) ? POLL_MS : false),
  });
  // The progress of this tab's upload. `sendFile` writes it into the cache, so this query requests nothing.
  const { data: sending } = useQuery<Sending | null>({
    queryKey: sendingKey(systemId),
    queryFn: () => Promise.resolve(null),
    enabled: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { run, isPending } = useAction();
  const isOver = data?.upload?.state === "done" || data?.upload?.state === "failed";
  useEffect(() => void (isOver && reloadImports()), [isOver]);
  if (data === undefined) return null;
  const { upload, time_zone: zone } = data;
  const reload = async () => {
    await queries.invalidateQueries({ queryKey: key });
    await reloadImports();
  };
  const act = (work: () => Promise<unknown>) =>
    run(async () => {
      try {
        await work();
      } finally {
        // Reloads after a failure too: somebody else may have uploaded a file, or discarded this one.
        await reload();
      }
    });
  const send = (file: File) => void act(() => sendFile(systemId, file, zone).catch(ignoreStop));
  const discard = () =>
    void act(() => {
      stopSending(systemId);
      return api.uploads.discard({ params: { system_id: systemId, id: upload?.id ?? "" }, body: {} });
    });
  // The service keeps one upload for each system: the next one can begin when the last one is over.
  const hasRoom = upload === null || isOver;
  const actions = canChange ? { act, discard, isPending } : undefined;
  return (
    <>
      {upload !== null && (
        <section class="stack" aria-live="polite">
          <h2 class="visually-hidden">The file that is being imported</h2>
          <Step systemId={systemId} upload={upload} sending={sending ?? undefined} actions={actions} />
        </section>
      )}
      {canChange && hasRoom && <DropZone zone={zone} isPending={isPending} onFile={send} />}
    </>
  );
}

/** Tells whether an upload is in progress: being received, waiting or running. */
function isUnderWay(upload: ShownUpload | null | undefined): boolean {
  return upload !== null && upload !== undefined && ["receiving", "waiting", "running"].includes(upload.state);
}

/** Reloads the list of imports. */
function reloadImports(): Promise<void> {
  return queries.invalidateQueries({ queryKey: ["fleet", "Imports"] });
}

/** Ignores the error of an upload that the reader has stopped. */
function ignoreStop(error: unknown): void {
  if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
}

interface DropZoneProps {
  readonly zone: string;
  readonly isPending: boolean;
  readonly onFile: (file: File) => void;
}

/** The field for the file, which can also be dropped on it. `zone` is the time zone of the times in the file. */
function DropZone({ zone, isPending, onFile }: DropZoneProps) {
  const [isDraggedOver, setDraggedOver] = useState(false);
  const take = (files: FileList | null | undefined) => {
    const [file] = files ?? [];
    if (file !== undefined && files?.length === 1) onFile(file);
    else if (file !== undefined) showToast("info", "One file at a time: pack several as one .zip.");
  };
  return (
    <label
      class={isDraggedOver ? "drop drop-over" : "drop"}
      aria-busy={isPending}
      onDragOver={(event) => {
        event.preventDefault();
        setDraggedOver(true);
      }}
      onDragLeave={() => setDraggedOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDraggedOver(false);
        if (!isPending) take(event.dataTransfer?.files);
      }}
    >
      <Icon name="upload" />
      <span>
        <strong>Drop a file of trips here, or choose one</strong>
        <br />
        <span class="muted">
          CSV with the columns of Citi Bike or of another system that publishes trips, as .csv, .csv.gz or .zip. Times
          of {zone}. You see what would be imported first.
        </span>
      </span>
      <input
        type="file"
        class="visually-hidden"
        accept=".csv,.gz,.zip,.txt"
        aria-label="A file of trips"
        disabled={isPending}
        onChange={(event) => {
          take(event.currentTarget.files);
          event.currentTarget.value = "";
        }}
      />
    </label>
  );
}

interface StepProps {
  readonly systemId: string;
  readonly upload: ShownUpload;
  /** The progress of this tab's upload; undefined: this tab uploads nothing. */
  readonly sending: Sending | undefined;
  readonly actions: UploadActions | undefined;
}

/** The step at which the upload is: under way (received, waiting or running), tried, imported or failed. */
function Step({ systemId, upload, sending, actions }: StepProps) {
  const { state, file_name: name } = upload;
  if (state === "tried") return <TrialResult systemId={systemId} upload={upload} actions={actions} />;
  if (state === "done") return <Done systemId={systemId} upload={upload} />;
  if (state === "failed")
    return (
      <Notice tone="danger" title={`${name} was not imported`} actions={<ImportLink id={upload.import_id} />}>
        {upload.problem}
      </Notice>
    );
  return <UnderWay upload={upload} sending={sending} actions={actions} />;
}

/**
 * The share of the progress above which a link to the import is shown. Reading a single file is the first fifth of the
 * progress, and its import, which the link opens, is recorded only after that.
 */
const BEGUN_SHARE = 0.25;

/** A link to the page of an import. A null id renders nothing, because nothing was written. */
function ImportLink({ id, label = "Report and undo" }: { readonly id: string | null; readonly label?: string }) {
  const url = useUrlState();
  if (id === null) return null;
  return <ButtonLink href={url.link(`/operator/imports/${encodeURIComponent(id)}`)}>{label}</ButtonLink>;
}

/** The progress of a file that is uploaded, tried or imported. */
function UnderWay({ upload, sending, actions }: Omit<StepProps, "systemId">) {
  const { state, step, share, rows_done: rows, bytes, file_name: name, asked_by_name: by } = upload;
  // Whether the file is still being uploaded.
  const isUploading = state === "receiving";
  const isImport = step === "import";
  // An import that has begun cannot be cancelled here. Its page can undo it.
  const isBegun = isImport && (state === "running" || upload.import_id !== null);
  const done = isUploading ? (sending?.share ?? 0) : share;
  const percent = `${Math.floor(done * 100)} %`;
  const stepVerb = isImport ? "Importing" : "Trying";
  const verb = isUploading ? "Sending" : stepVerb;
  // `Step` shows uploads in any other state.
  const texts = {
    receiving: sending === undefined ? `${sizeText(bytes)} have come.` : percent,
    waiting: "Waits for a process that does it.",
    running: rows === 0 ? "Reading…" : `${percent}, ${rows.toLocaleString("en")} rows of this file.`,
  };
  return (
    <Notice
      tone="progress"
      title={`${verb} ${name}`}
      actions={
        isBegun
          ? share > BEGUN_SHARE && <ImportLink id={upload.import_id} />
          : actions && (
              <Button pending={actions.isPending && !isUploading} onClick={actions.discard}>
                Cancel
              </Button>
            )
      }
    >
      <p>
        {texts[state as keyof typeof texts]} {sending === undefined && by !== null && `By ${by}.`}{" "}
        {isUploading && sending !== undefined && "Keep this tab open."}
        {isImport && state === "running" && "It can be undone at any time."}
      </p>
      <progress value={done} max={1} aria-label={`${verb} ${name}`} />
    </Notice>
  );
}

/** The result of an import that has ended, and whether it has been undone since. */
function Done({
  systemId,
  upload: { result, import_id: id, file_name: name },
}: Omit<StepProps, "sending" | "actions">) {
  const number = (n: number) => n.toLocaleString("en");
  const { data, error } = useImport(systemId, id);
  const now = data?.import;
  // Shows nothing until it is known whether the import has been undone since.
  if (id !== null && now === undefined && error === null) return null;
  if (now?.status === "undone" || now?.status === "undoing")
    return (
      <Notice
        tone="neutral"
        title={`The import of ${name} ${now.status === "undone" ? "was undone" : "is being undone"}`}
        actions={<ImportLink id={id} label="Report" />}
      >
        {`${number(now.removed)} of its ${number(now.created)} rides are removed.`}
      </Notice>
    );
  return (
    <Notice
      tone="success"
      title={result === null ? `${name} is imported` : `${number(result.created)} rides of ${name} are imported`}
      actions={<ImportLink id={id} />}
    >
      {result === null
        ? "The report says more."
        : `Stored before: ${number(result.unchanged)}. Rejected: ${number(result.rejected)}.`}
    </Notice>
  );
}
