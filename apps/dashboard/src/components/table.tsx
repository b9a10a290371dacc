import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ErrorState } from "./error-state.tsx";
import { Icon } from "./icon.tsx";
import "./table.css";

/** A column of a `Table`. */
export interface Column<Row> {
  readonly id: string;
  /** Empty for a column of buttons, which have their own labels. */
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `end` for numbers and durations. */
  readonly align?: "start" | "end";
  readonly sortable?: boolean;
  /**
   * Whether the column is hidden when the table is too narrow for every column and too wide for cards, and while the
   * page of a row is open beside the table.
   */
  readonly isSecondary?: boolean;
}

/** The column by which a table is sorted, by its id. */
export interface Sorting {
  readonly column: string;
  readonly direction: "ascending" | "descending";
}

interface TableProps<Row> {
  /** The table's caption, for screen readers only. */
  readonly caption: string;
  /**
   * The first column with a title says what a row is about. Its link leads to the row's page. A press on the row does the
   * same.
   */
  readonly columns: readonly Column<Row>[];
  /** Undefined until the rows are loaded. */
  readonly rows: readonly Row[] | undefined;
  readonly rowKey: (row: Row) => string;
  /** The placeholder of a table without rows. */
  readonly empty: ComponentChildren;
  readonly error?: unknown;
  readonly onRetry?: () => void;
  readonly sorting?: Sorting;
  readonly onSort?: (sorting: Sorting) => void;
  /** Marks the row whose page or panel is open. */
  readonly isCurrent?: (row: Row) => boolean;
}

/** The number of columns that a list keeps while the page of one of its rows is open beside it. */
const BRIEF_COLUMNS = 3;

/** Rows under a header, and cards on a phone. A table that is wider than the page scrolls sideways. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, empty, error, onRetry } = props;
  const frame = useFittingFrame(rows !== undefined && rows.length > 0);
  if (rows === undefined && error !== undefined && error !== null) {
    return (
      <div class="table-frame">
        <ErrorState error={error} onRetry={onRetry} />
      </div>
    );
  }
  if (rows?.length === 0) return <div class="table-frame">{empty}</div>;
  const shown = withClasses(columns);
  const head = (
    <thead>
      <tr>
        {shown.map(({ column, className }) => (
          <HeaderCell
            key={column.id}
            {...{ column, className }}
            sorting={props.sorting}
            onSort={rows === undefined ? undefined : props.onSort}
          />
        ))}
      </tr>
    </thead>
  );
  if (rows === undefined) return <LoadingTable caption={caption} head={head} columnCount={columns.length} />;
  return (
    // Focusable, so that the table can be scrolled sideways with the keyboard.
    <div ref={frame} class="table-frame table-scroll" role="group" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        {head}
        <Rows {...props} rows={rows} shown={shown} />
      </table>
    </div>
  );
}

interface RowsProps<Row> extends Pick<TableProps<Row>, "rowKey" | "isCurrent"> {
  readonly rows: readonly Row[];
  readonly shown: ReturnType<typeof withClasses<Row>>;
}

function Rows<Row>({ rows, shown, rowKey, isCurrent }: RowsProps<Row>) {
  return (
    <tbody onClick={openRow}>
      {rows.map((row) => (
        <tr key={rowKey(row)} aria-current={isCurrent?.(row) === true ? "true" : undefined}>
          {shown.map(({ column, className }) => (
            <td
              key={column.id}
              class={className}
              // Shown on a phone, where the header is out of sight.
              data-title={column.title === "" ? undefined : column.title}
            >
              {column.cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  );
}

/** The number of placeholder rows while a table loads. */
const SKELETON_ROWS = 8;

interface LoadingTableProps {
  readonly caption: string;
  readonly head: ComponentChildren;
  readonly columnCount: number;
}

function LoadingTable({ caption, head, columnCount }: LoadingTableProps) {
  return (
    <div class="table-frame table-scroll loading" data-fits role="status" aria-label={`Loading: ${caption}`}>
      <table class="table" aria-hidden="true">
        {head}
        <tbody>
          {Array.from({ length: SKELETON_ROWS }, (_, row) => (
            <tr key={row} class="skeleton-row">
              {Array.from({ length: columnCount }, (__, column) => (
                <td key={column} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Opens the page of a row when the reader presses the row outside its links and buttons. */
function openRow(event: MouseEvent): void {
  const { target } = event;
  if (!(target instanceof Element) || target.closest("a, button, input, select, label, summary") !== null) return;
  // Selecting text with the pointer ends with a click too, which must not open the row.
  if (getSelection()?.isCollapsed === false) return;
  // Keeps the modifier keys, with which a link opens in a new tab or window.
  const { bubbles, cancelable, ctrlKey, metaKey, shiftKey } = event;
  rowLink(target.closest("tr"))?.dispatchEvent(
    new MouseEvent("click", { bubbles, cancelable, ctrlKey, metaKey, shiftKey }),
  );
}

/** Returns the link or button that opens the page of a row: the first one in the cell that says what the row is about. */
export function rowLink(row: Element | null): HTMLElement | null {
  return row?.querySelector<HTMLElement>("td.lead :is(a[href], button)") ?? null;
}

/**
 * Sets `data-fits` on the frame while the table fits into it. Such a frame needs no sideways scrolling, so its header can be
 * sticky. A header inside a scrolling box cannot stick to the page.
 * @param hasRows whether the frame is rendered: a table that is loading or empty has none
 */
function useFittingFrame(hasRows: boolean) {
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const box = frame.current;
    const table = box?.firstElementChild;
    if (box === null || !(table instanceof HTMLElement)) return undefined;
    const observer = new ResizeObserver(() => box.toggleAttribute("data-fits", table.offsetWidth <= box.clientWidth));
    observer.observe(box);
    observer.observe(table);
    return () => observer.disconnect();
  }, [hasRows]);
  return frame;
}

interface HeaderCellProps<Row> {
  readonly column: Column<Row>;
  readonly className: string | undefined;
  readonly sorting: Sorting | undefined;
  readonly onSort: ((sorting: Sorting) => void) | undefined;
}

function HeaderCell<Row>({ column, className, sorting, onSort }: HeaderCellProps<Row>) {
  if (column.title === "") return <td class={className} />;
  if (column.sortable !== true || onSort === undefined) {
    return (
      <th scope="col" class={className}>
        {column.title}
      </th>
    );
  }
  const direction = sorting?.column === column.id ? sorting.direction : undefined;
  const next = direction === "ascending" ? "descending" : "ascending";
  return (
    <th scope="col" class={className} aria-sort={direction ?? "none"}>
      <button type="button" class="sort" onClick={() => onSort({ column: column.id, direction: next })}>
        {column.title}
        <span class={`sort-mark sort-${direction ?? "none"}`}>
          <Icon name="chevronDown" />
        </span>
      </button>
    </th>
  );
}

/**
 * Returns each column with the CSS classes of its cells. `lead`: the cell says what the row is about. `brief-not`: the
 * column is hidden while the page of a row is open beside the list.
 */
function withClasses<Row>(columns: readonly Column<Row>[]) {
  const lead = columns.findIndex(({ title }) => title !== "");
  let primary = 0;
  return columns.map((column, index) => {
    const { title, align, isSecondary } = column;
    if (title !== "" && isSecondary !== true) primary += 1;
    const names = [
      index === lead && "lead",
      align === "end" && "align-end",
      isSecondary === true && "secondary",
      (title === "" || primary > BRIEF_COLUMNS) && "brief-not",
    ].filter(Boolean);
    return { column, className: names.length > 0 ? names.join(" ") : undefined };
  });
}
