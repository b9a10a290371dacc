import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import type { Column } from "../../components/table.tsx";
import type { Access } from "../../session/session.ts";
import { useAction } from "../use-action.ts";

/** An item that is edited in a dialog, and the current text of the form. */
export interface Editing<Item> {
  readonly item: Item | undefined;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly open: (item: Item) => void;
  readonly close: () => void;
}

/** @param textOf returns the initial text of the dialog */
export function useEditing<Item>(textOf: (item: Item) => string): Editing<Item> {
  const [item, setItem] = useState<Item>();
  const [text, setText] = useState("");
  const open = (opened: Item) => {
    setText(textOf(opened));
    setItem(() => opened);
  };
  return { item, text, setText, open, close: () => setItem(undefined) };
}

/** A button at the end of each row, for those who may change it. */
export function editColumn<Row>(
  { canChange }: Pick<Access, "canChange">,
  labelOf: (row: Row) => string,
  open: (row: Row) => void,
): Column<Row>[] {
  if (!canChange) return [];
  const cell = (row: Row) => (
    <Button onClick={() => open(row)} label={`Change ${labelOf(row)}`}>
      Change
    </Button>
  );
  return [{ id: "edit", title: "", align: "end", cell }];
}

interface EditDialogProps {
  readonly title: string;
  readonly editing: Pick<Editing<unknown>, "item" | "text" | "close">;
  /** Whether there is something to save; left out: a text. */
  readonly canSave?: boolean;
  readonly save: () => Promise<void>;
  /** Takes the operator's word back; undefined where there is none. */
  readonly remove?: (() => Promise<void>) | undefined;
  readonly children: ComponentChildren;
}

/** Changes one word of the operator's, or takes it back. */
export function EditDialog({ title, editing, canSave, save, remove, children }: EditDialogProps) {
  const isSavable = canSave ?? editing.text.trim() !== "";
  const { run, isPending } = useAction();
  const act = (work: () => Promise<void>) =>
    void run(async () => {
      await work();
      editing.close();
    });
  return (
    <Dialog
      title={title}
      isOpen={editing.item !== undefined}
      onClose={editing.close}
      actions={
        <>
          {remove !== undefined && (
            <Button variant="danger" pending={isPending} onClick={() => act(remove)}>
              Take back
            </Button>
          )}
          <Button variant="primary" pending={isPending} disabled={!isSavable} onClick={() => act(save)}>
            Save
          </Button>
        </>
      }
    >
      <Form onSubmit={() => isSavable && act(save)}>{children}</Form>
    </Dialog>
  );
}
