import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ErrorState } from "./error-state.tsx";
import { Icon } from "./icon.tsx";
import { Loading } from "./loading.tsx";
import "./table.css";

export interface Column<Row> {
  readonly id: string;
  /** Empty for a column of buttons, which have their own labels. */
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers and durations stand at the right. */
  readonly align?: "start" | "end";
  readonly sortable?: boolean;
  /** Left out on a window that is too narrow for every column, and too wide for cards. */
  readonly isSecondary?: boolean;
}

export interface Sorting {
  readonly column: string;
  readonly direction: "ascending" | "descending";
}

interface TableProps<Row> {
  /** The table's caption, for screen readers only. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  /** Undefined until they are loaded. */
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

/** Rows under a header, and cards on a phone. It scrolls sideways by itself where it is wider than the page. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, columns, rows, rowKey, empty, error, onRetry } = props;
  const frame = useFittingFrame(rows !== undefined && rows.length > 0);
  if (rows === undefined) {
    return (
      <div class="table-frame">
        {error === undefined || error === null ? <Loading /> : <ErrorState error={error} onRetry={onRetry} />}
      </div>
    );
  }
  if (rows.length === 0) return <div class="table-frame">{empty}</div>;
  return (
    // Focusable, so that the keyboard can scroll it sideways.
    <div ref={frame} class="table-frame table-scroll" role="group" aria-label={caption} tabIndex={0}>
      <table class="table">
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} sorting={props.sorting} onSort={props.onSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)} aria-current={props.isCurrent?.(row) === true ? "true" : undefined}>
              {columns.map((column) => (
                <td
                  key={column.id}
                  class={cellClass(column)}
                  // Shown on a phone, where the header is out of sight.
                  data-title={column.title === "" ? undefined : column.title}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * Marks the frame of a table that fits into it: nothing scrolls sideways then, and the header can stay in sight while the
 * page scrolls, which it cannot inside a box that scrolls.
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
  readonly sorting: Sorting | undefined;
  readonly onSort: ((sorting: Sorting) => void) | undefined;
}

function HeaderCell<Row>({ column, sorting, onSort }: HeaderCellProps<Row>) {
  if (column.title === "") return <td class={cellClass(column)} />;
  if (column.sortable !== true || onSort === undefined) {
    return (
      <th scope="col" class={cellClass(column)}>
        {column.title}
      </th>
    );
  }
  const direction = sorting?.column === column.id ? sorting.direction : undefined;
  const next = direction === "ascending" ? "descending" : "ascending";
  return (
    <th scope="col" class={cellClass(column)} aria-sort={direction ?? "none"}>
      <button type="button" class="sort" onClick={() => onSort({ column: column.id, direction: next })}>
        {column.title}
        <span class={`sort-mark sort-${direction ?? "none"}`}>
          <Icon name="chevronDown" />
        </span>
      </button>
    </th>
  );
}

function cellClass({ align, isSecondary }: Pick<Column<never>, "align" | "isSecondary">): string | undefined {
  const names = [align === "end" && "align-end", isSecondary === true && "secondary"].filter(Boolean);
  return names.length > 0 ? names.join(" ") : undefined;
}
