import type { OperatorAlert } from "@bikeshare/contract";
import { useState } from "preact/hooks";
import { api, queries } from "../../api/api.ts";
import { useQuery } from "../../api/queries.ts";
import { useStationMap } from "../../api/station-map.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Filters } from "../../components/filters.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Time } from "../../components/time.tsx";
import { lazyPart, useLazy } from "../../components/use-lazy.ts";
import { PageHeader } from "../../layout/page-header.tsx";
import { useUrlState } from "../../layout/url-state.ts";
import { type Access, useOperatorAccess } from "../../session/session.ts";
import { NotFoundPage } from "../not-found-page.tsx";
import { useAction } from "../use-action.ts";

/** The types of alerts in words. */
const typeNames: Readonly<Record<OperatorAlert["type"], string>> = {
  station_closure: "Station closure",
  station_move: "Station move",
  system_closure: "System closure",
  other: "Other",
};

const dialog = lazyPart(async () => (await import("./open-alert-dialog.tsx")).OpenAlertDialog);

/**
 * The form of a new alert. Its module is loaded when the form is opened, because it needs the large module of inputs
 * that the forms for GBFS use (gbfs/fact-input.tsx).
 */
function OpenDialog(props: { readonly systemId: string; readonly onClose: () => void; readonly onOpened: () => void }) {
  const Loaded = useLazy(dialog);
  return Loaded && <Loaded {...props} types={typeNames} />;
}

/** The operator's page of alerts to riders, where alerts are listed, opened and ended. */
export function AlertsPage() {
  const access = useOperatorAccess();
  const [isOpening, setOpening] = useState(false);
  if (access === undefined) return <NotFoundPage />;
  const reload = () => void queries.invalidateQueries({ queryKey: ["alerts", access.systemId] });
  return (
    <div class="stack">
      <PageHeader
        title="Alerts"
        actions={
          access.canChange && (
            <Button variant="primary" onClick={() => setOpening(true)}>
              Open an alert
            </Button>
          )
        }
      >
        What riders should know. Apps and planners show alerts from the moment they are opened.
      </PageHeader>
      <AlertList access={access} reload={reload} />
      {isOpening && <OpenDialog systemId={access.systemId} onClose={() => setOpening(false)} onOpened={reload} />}
    </div>
  );
}

interface AlertListProps {
  readonly access: Access;
  readonly reload: () => void;
}

function AlertList({ access: { systemId, canChange }, reload }: AlertListProps) {
  const url = useUrlState();
  const [ending, setEnding] = useState<OperatorAlert>();
  const status = url.get("status") === "ended" ? "ended" : "open";
  const { data, error, refetch } = useQuery({
    queryKey: ["alerts", systemId, status],
    queryFn: ({ signal }) => api.alerts.list({ params: { system_id: systemId }, query: { status }, signal }),
  });
  const map = useStationMap(systemId);
  const nameOf: NameOf = (kind, id) => map?.[kind].find((each) => each.id === id)?.name ?? id;
  const canEnd = (alert: OperatorAlert) => canChange && status === "open" && alert.source === "operator";
  return (
    <>
      <Filters
        label="Filters"
        filters={[{ name: "status", label: "Status", choices: statusChoices }]}
        values={{ status }}
        onChange={({ status: value }) => url.filter({ status: value === "open" ? "" : (value ?? "") })}
        count={data === undefined ? "" : `${data.data.length} of ${data.total}`}
      />
      <h2 class="visually-hidden">The list</h2>
      <Table
        caption="Alerts"
        columns={[...columns(status, nameOf), ...endColumn(canEnd, setEnding)]}
        rows={data?.data}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title={status === "open" ? "No open alerts" : "No alert has ended"} />}
      />
      {data !== undefined && data.total > data.data.length && (
        <p class="muted">
          {data.data.length} of {data.total}. <code>bikeshare alerts list</code> shows all.
        </p>
      )}
      <EndDialog systemId={systemId} alert={ending} onClose={() => setEnding(undefined)} onEnded={reload} />
    </>
  );
}

const statusChoices = [
  { value: "open", label: "Open" },
  { value: "ended", label: "Ended in the last 90 days" },
];

/** Returns the name of a station (kind `data`) or region; its id until the names are loaded. */
type NameOf = (kind: "data" | "regions", id: string) => string;

function columns(status: "open" | "ended", nameOf: NameOf): readonly Column<OperatorAlert>[] {
  return [
    {
      id: "summary",
      title: "Summary",
      cell: ({ id, summary }) => (
        <>
          {summary[0]?.text}
          {summary.length > 1 && <span class="muted"> ({summary.map(({ language }) => language).join(", ")})</span>}
          <br />
          <span class="mono muted">{id}</span>
        </>
      ),
    },
    { id: "type", title: "Type", cell: ({ type }) => typeNames[type] },
    { id: "places", title: "About", cell: (alert) => placesText(alert, nameOf) },
    { id: "times", title: "Applies", cell: ({ times }) => <Times times={times} /> },
    {
      id: "source",
      title: "Source",
      isSecondary: true,
      cell: ({ source }) => (source === "operator" ? "you" : `feed ${source}`),
    },
    status === "open"
      ? {
          id: "opened",
          title: "Opened",
          isSecondary: true,
          cell: ({ opened_at: at }) => <Time at={at} />,
        }
      : { id: "ended", title: "Ended", cell: ({ ended_at: at }) => <Time at={at} /> },
  ];
}

/** Returns what an alert is about: stations and regions by name. Without any, it is about the whole system. */
function placesText({ station_ids: stations, region_ids: regions }: OperatorAlert, nameOf: NameOf): string {
  const places = [...stations.map((id) => nameOf("data", id)), ...regions.map((id) => nameOf("regions", id))];
  return places.length === 0 ? "the whole system" : places.join(", ");
}

function Times({ times }: Pick<OperatorAlert, "times">) {
  if (times.length === 0) return <>until further notice</>;
  return (
    <>
      {times.map(({ start, end }) => (
        <div key={`${start} ${end}`}>
          {start !== null && (
            <>
              from <Time at={start} />{" "}
            </>
          )}
          {end === null ? (
            "until further notice"
          ) : (
            <>
              until <Time at={end} />
            </>
          )}
        </div>
      ))}
    </>
  );
}

/**
 * Returns the column with the buttons that end alerts. Alerts from a feed have no button, because only the feed ends them.
 */
function endColumn(
  canEnd: (alert: OperatorAlert) => boolean,
  onEnd: (alert: OperatorAlert) => void,
): Column<OperatorAlert>[] {
  const cell = (alert: OperatorAlert) =>
    canEnd(alert) && (
      <Button onClick={() => onEnd(alert)} label={`End the alert ${alert.id}`}>
        End
      </Button>
    );
  return [{ id: "end", title: "", align: "end", cell }];
}

interface EndDialogProps {
  readonly systemId: string;
  /** The alert to end. Undefined: the dialog is closed. */
  readonly alert: OperatorAlert | undefined;
  readonly onClose: () => void;
  readonly onEnded: () => void;
}

function EndDialog({ systemId, alert, onClose, onEnded }: EndDialogProps) {
  const { run, isPending } = useAction();
  const end = () =>
    void run(async () => {
      await api.alerts.end({ params: { system_id: systemId, id: alert?.id ?? "" }, body: {} });
      onEnded();
      onClose();
    });
  return (
    <Dialog
      title="End this alert?"
      isOpen={alert !== undefined}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="danger" pending={isPending} onClick={end}>
            End
          </Button>
        </>
      }
    >
      <p>“{alert?.summary[0]?.text}” is shown to riders no more.</p>
      {alert?.closes_station !== null && (
        <p>Station {alert?.closes_station} stays offline. The alert ends by itself when the station is back online.</p>
      )}
    </Dialog>
  );
}
