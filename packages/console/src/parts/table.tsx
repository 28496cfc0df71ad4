import "./table.css";
import type { ComponentChildren } from "preact";

export interface Column<T> {
  /** The heading; on a phone it is beside each value. */
  readonly title: string;
  cell(item: T): ComponentChildren;
  /** Whether the cell is the row's heading; on a phone it is the head of the card. */
  readonly isHead?: boolean;
  /** Buttons: at the end, without a heading to be seen. */
  readonly isActions?: boolean;
}

export interface TableProps<T> {
  /** Name of the table for screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<T>[];
  readonly items: readonly T[];
  keyOf(item: T): string;
}

/** A short list of things with columns; on a phone each row is a card. Long ones: WindowedList. */
export function Table<T>({ caption, columns, items, keyOf }: TableProps<T>) {
  return (
    <table class="table">
      <caption class="spoken">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title, isActions }) => (
            <th key={title} scope="col">
              <span class={isActions ? "spoken" : undefined}>{title}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf(item)}>
            {columns.map((column) => (
              <Cell key={column.title} column={column} item={item} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cell<T>({ column, item }: { readonly column: Column<T>; readonly item: T }) {
  const { title, cell, isHead, isActions } = column;
  if (isHead) return <th scope="row">{cell(item)}</th>;
  return (
    <td data-title={isActions ? undefined : title} class={isActions ? "cell-actions" : undefined}>
      <div>{cell(item)}</div>
    </td>
  );
}
