import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Form } from "../../components/form.tsx";
import { useAction } from "../use-action.ts";

/** What is being changed in a dialog, and the text that stands in it. */
export interface Editing<Item> {
  readonly item: Item | undefined;
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly open: (item: Item) => void;
  readonly close: () => void;
}

/** @param textOf what stands in the dialog at first */
export function useEditing<Item>(textOf: (item: Item) => string): Editing<Item> {
  const [item, setItem] = useState<Item>();
  const [text, setText] = useState("");
  const open = (opened: Item) => {
    setText(textOf(opened));
    setItem(() => opened);
  };
  return { item, text, setText, open, close: () => setItem(undefined) };
}

interface EditDialogProps {
  readonly title: string;
  readonly editing: Pick<Editing<unknown>, "item" | "text" | "close">;
  readonly save: () => Promise<void>;
  /** Takes the operator's word back; undefined where there is none. */
  readonly remove?: (() => Promise<void>) | undefined;
  readonly children: ComponentChildren;
}

/** Changes one word of the operator's, or takes it back. */
export function EditDialog({ title, editing, save, remove, children }: EditDialogProps) {
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
          <Button variant="primary" pending={isPending} disabled={editing.text.trim() === ""} onClick={() => act(save)}>
            Save
          </Button>
        </>
      }
    >
      <Form onSubmit={() => act(save)}>{children}</Form>
    </Dialog>
  );
}
