import type { ShownExport, ShownExportSchedule } from "@bikeshare/contract/console";
import { exportFormats } from "@bikeshare/contract/pure";
import { useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { api, queries } from "../../api/api.ts";
import { addressOf } from "../../api/client.ts";
import { useQuery } from "../../api/queries.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Notice } from "../../components/notice.tsx";
import { Status } from "../../components/status.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { type Access, useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { useAction } from "../use-action.ts";
import { ExportDialog, type ExportOptions } from "./export-dialog.tsx";
import { kindNames, leftOutText, sizeText } from "./words.ts";

/** Milliseconds between two reads while a file is being made. */
const POLL_MS = 2_000;

/** The open dialog: its form and, for a file that is to be made again, the options of the earlier file. */
type Open = { readonly form: "file" | "schedule"; readonly earlier?: ExportOptions };

/** The page of open-data files, where the operator makes, shares, downloads and deletes them. */
export function ExportsPage() {
  const access = useOperatorAccess();
  const [open, setOpen] = useState<Open>();
  const url = useUrlState();
  const systemId = access?.systemId ?? "";
  const { data, error, refetch } = useQuery({
    queryKey: ["exports", systemId],
    queryFn: ({ signal }) => api.exports.list({ params: { system_id: systemId }, query: {}, signal }),
    enabled: access !== undefined,
    refetchInterval: ({ state }) => (state.data?.data.some(isUnderWay) === true ? POLL_MS : false),
  });
  if (access === undefined) return <NotFoundPage />;
  const reload = () => void queries.invalidateQueries({ queryKey: ["exports", systemId] });
  const again = (file: ShownExport) => setOpen({ form: "file", earlier: file });
  return (
    <div class="stack">
      <ExportsHeader canChange={access.canChange} onOpen={(form) => setOpen({ form })} />
      {data?.licence === null && (
        <Notice tone="warning" title="No licence is named">
          Without one nobody may use the files. Name it, such as CC-BY-4.0, on the page{" "}
          <Link href={url.link("/operator/systems")}>System</Link>.
        </Notice>
      )}
      <h2>Files</h2>
      <FileTable
        access={access}
        files={data?.data}
        error={error}
        onRetry={() => void refetch()}
        onAgain={again}
        reload={reload}
      />
      {data?.next_cursor !== undefined && <p class="muted">Only the newest {data.data.length} are shown.</p>}
      <h2>Every month</h2>
      <ScheduleTable access={access} schedules={data?.schedules} reload={reload} />
      {open !== undefined && (
        <ExportDialog
          systemId={systemId}
          lastMonth={data?.last_month ?? ""}
          {...open}
          onClose={() => setOpen(undefined)}
          onDone={reload}
        />
      )}
    </div>
  );
}

interface ExportsHeaderProps {
  readonly canChange: boolean;
  readonly onOpen: (form: Open["form"]) => void;
}

function ExportsHeader({ canChange, onOpen }: ExportsHeaderProps) {
  return (
    <PageHeader
      title="Exports"
      actions={
        canChange && (
          <>
            <Button onClick={() => onOpen("schedule")}>Add a schedule</Button>
            <Button variant="primary" onClick={() => onOpen("file")}>
              Make a file
            </Button>
          </>
        )
      }
    >
      Rides, stations and their history, as files for cities, researchers and the public.
    </PageHeader>
  );
}

function isUnderWay({ state }: ShownExport): boolean {
  return state === "waiting" || state === "running";
}

interface FileTableProps {
  readonly access: Access;
  readonly files: readonly ShownExport[] | undefined;
  readonly error: unknown;
  readonly onRetry: () => void;
  readonly onAgain: (file: ShownExport) => void;
  readonly reload: () => void;
}

function FileTable({ access, files, error, onRetry, onAgain, reload }: FileTableProps) {
  const [deleting, setDeleting] = useState<ShownExport>();
  const { run } = useAction();
  const share = (file: ShownExport) =>
    void run(async () => {
      const params = { system_id: access.systemId, id: file.id };
      await api.exports.share({ params, body: { is_shared: !file.is_shared } });
      reload();
    });
  const actions: Column<ShownExport> = {
    id: "actions",
    title: "",
    align: "end",
    cell: (file) => (
      <span class="row">
        <DownloadLink file={file} systemId={access.systemId} />
        {access.canChange && (
          <FileActions
            file={file}
            onAgain={() => onAgain(file)}
            onShare={() => share(file)}
            onDelete={() => setDeleting(file)}
          />
        )}
      </span>
    ),
  };
  return (
    <>
      <Table
        caption="Files"
        columns={[...fileColumns(), actions]}
        rows={files}
        rowKey={({ id }) => id}
        error={error}
        onRetry={onRetry}
        empty={<EmptyState title="No files yet" />}
      />
      <DeleteDialog
        title="Delete this file?"
        what={deleting && `${nameOf(deleting)} can be downloaded no more. Rides and stations stay as they are.`}
        onDelete={() =>
          api.exports.remove({ params: { system_id: access.systemId, id: deleting?.id ?? "" }, body: {} })
        }
        onClose={() => setDeleting(undefined)}
        onDone={reload}
      />
    </>
  );
}

interface FileActionsProps {
  readonly file: ShownExport;
  readonly onAgain: () => void;
  readonly onShare: () => void;
  readonly onDelete: () => void;
}

function FileActions({ file, onAgain, onShare, onDelete }: FileActionsProps) {
  const sharing = file.is_shared ? "Stop sharing" : "Share";
  return (
    <>
      <Button label={`Make again: ${nameOf(file)}`} onClick={onAgain}>
        Make again
      </Button>
      <Button label={`${sharing}: ${nameOf(file)}`} onClick={onShare}>
        {sharing}
      </Button>
      <Button variant="danger" label={`Delete ${nameOf(file)}`} onClick={onDelete}>
        Delete
      </Button>
    </>
  );
}

/** The route of a file. A link leads to it, so that the browser stores the file. */
const DOWNLOAD = "/console/v1/systems/:system_id/exports/:id/file";

function DownloadLink({ file, systemId }: { readonly file: ShownExport; readonly systemId: string }) {
  // `file.file` is null until the file is made. `is_here`: whether the process that answered has the file on its machine.
  if (file.file === null || file.is_here !== true) return null;
  const href = addressOf(DOWNLOAD, { system_id: systemId, id: file.id });
  return (
    <a class="button button-secondary" href={href} aria-label={`Download ${nameOf(file)}`} download>
      Download
    </a>
  );
}

function fileColumns(): readonly Column<ShownExport>[] {
  return [
    {
      id: "file",
      title: "File",
      cell: (shown) => (
        <>
          <strong>{nameOf(shown)}</strong>
          <br />
          <span class="muted">
            {exportFormats[shown.format].text}
            {shown.file !== null && `, ${sizeText(shown.file.bytes)}, ${shown.file.licence ?? "no licence"}`}
          </span>
        </>
      ),
    },
    { id: "state", title: "State", cell: (shown) => <State shown={shown} /> },
    {
      id: "rows",
      title: "Rows",
      align: "end",
      cell: ({ file, rows_done: rows }) => (file?.rows ?? rows).toLocaleString("en"),
    },
    { id: "left", title: "Left out", isSecondary: true, cell: ({ file }) => leftOutText(file) },
    {
      id: "shared",
      title: "Partners",
      cell: ({ is_shared: isShared }) => (isShared ? "shared" : "not shared"),
    },
    {
      id: "asOf",
      title: "As of",
      isSecondary: true,
      // An unfinished file shows when it was requested.
      cell: ({ file, requested_at: asked }) => <Time at={file?.as_of ?? asked} />,
    },
  ];
}

/** Returns the name of a file: `Rides, 2026-10, coarse`. Some kinds have no month or no privacy level. */
function nameOf({ kind, month, privacy }: Pick<ShownExport, "kind" | "month" | "privacy">): string {
  return [kindNames[kind], month, privacy].filter((part) => part !== null).join(", ");
}

function State({ shown }: { readonly shown: ShownExport }) {
  if (shown.state === "failed") return <Status tone="danger">{shown.problem}</Status>;
  if (shown.state === "waiting") return <Status tone="progress">waiting</Status>;
  if (shown.state === "running") return <Status tone="progress">being made</Status>;
  return shown.is_here === true ? (
    <Status tone="success">ready</Status>
  ) : (
    <Status tone="warning">the file is missing on this machine: make it again</Status>
  );
}

interface ScheduleTableProps {
  readonly access: Access;
  readonly schedules: readonly ShownExportSchedule[] | undefined;
  readonly reload: () => void;
}

function ScheduleTable({ access: { systemId, canChange }, schedules, reload }: ScheduleTableProps) {
  const [removing, setRemoving] = useState<ShownExportSchedule>();
  const columns: readonly Column<ShownExportSchedule>[] = [
    { id: "what", title: "Each month", cell: (schedule) => nameOf({ ...schedule, month: null }) },
    { id: "format", title: "Format", cell: ({ format }) => exportFormats[format].text },
    {
      id: "shared",
      title: "Partners",
      cell: ({ is_shared: isShared }) => (isShared ? "shared" : "not shared"),
    },
    { id: "keep", title: "Kept", cell: ({ keep_months: months }) => `${months} ${months === 1 ? "month" : "months"}` },
    {
      id: "actions",
      title: "",
      align: "end",
      cell: (schedule) =>
        canChange && (
          <Button label={`Stop ${nameOf({ ...schedule, month: null })}`} onClick={() => setRemoving(schedule)}>
            Stop
          </Button>
        ),
    },
  ];
  return (
    <>
      <Table
        caption="Schedules"
        columns={columns}
        rows={schedules}
        rowKey={({ id }) => id}
        empty={<EmptyState title="No schedule">Add one, and each month’s file is made by itself.</EmptyState>}
      />
      <DeleteDialog
        title="Stop this schedule?"
        what={
          removing && `No more files of ${nameOf({ ...removing, month: null })} are made. Those that are there stay.`
        }
        word="Stop"
        onDelete={() =>
          api.exports.removeSchedule({ params: { system_id: systemId, id: removing?.id ?? "" }, body: {} })
        }
        onClose={() => setRemoving(undefined)}
        onDone={reload}
      />
    </>
  );
}

interface DeleteDialogProps {
  readonly title: string;
  /** A sentence about what will be deleted. Undefined: the dialog is closed. */
  readonly what: string | undefined;
  /** The text of the button. */
  readonly word?: string;
  readonly onDelete: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

function DeleteDialog({ title, what, word = "Delete", onDelete, onClose, onDone }: DeleteDialogProps) {
  const { run, isPending } = useAction();
  const remove = () =>
    void run(async () => {
      await onDelete();
      onDone();
      onClose();
    });
  return (
    <Dialog
      title={title}
      isOpen={what !== undefined}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" pending={isPending} onClick={remove}>
            {word}
          </Button>
        </>
      }
    >
      <p>{what}</p>
    </Dialog>
  );
}
