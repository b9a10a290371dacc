import type { FactKind } from "@bikeshare/contract/facts";
import type { ComponentChildren, ComponentProps } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Link } from "wouter-preact";
import { Button, ButtonLink } from "../../components/button.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { TextField } from "../../components/field.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { showToast } from "../../components/toast.tsx";
import { type UrlState, useUrlState } from "../../layout/url-state.ts";
import type { Access } from "../../session/session.ts";
import { useAction } from "../use-action.ts";
import { FactForm } from "./fact-form.tsx";
import { shortText } from "./fact-input.tsx";
import { type DescribedThing, removeFacts, useDescribed } from "./facts-data.ts";
import { useFactError } from "./form-context.ts";

/*
 * The views of things that the operator describes for GBFS, such as pricing plans or regions: a list, and a form for
 * one thing with its facts (the values that GBFS publishes about it). The address says which is shown: `item` is the id
 * of the opened thing, `new` is set for a new one.
 */

interface DescribedListProps<Kind extends FactKind> {
  readonly access: Access;
  readonly kind: Kind;
  /** The view of the page, in its address. */
  readonly view: string;
  /** A thing of this kind in words: "pricing plan". */
  readonly noun: string;
  /** Explains the ids of this kind, with an example. */
  readonly idHint: string;
  readonly empty: ComponentChildren;
  readonly columns: readonly Column<DescribedThing<Kind>>[];
}

const PAGE = "/operator/systems";

/** A list of all things of one kind, such as pricing plans. The form of an opened or new thing replaces the list. */
export function DescribedList<Kind extends FactKind>(props: DescribedListProps<Kind>) {
  const { access, kind, view, noun, idHint, empty, columns } = props;
  const url = useUrlState();
  const { things, error, refetch } = useDescribed(access.systemId, kind);
  const item = url.get("item");
  if (item !== "") return <OneThing {...{ access, kind, view, url }} noun={noun} id={item} />;
  if (url.get("new") !== "" && things !== undefined)
    return <NewThing {...{ access, kind, view, url, noun, idHint }} taken={things.map(({ id }) => id)} />;
  const add = access.canChange && (
    <ButtonLink variant="primary" href={url.link(PAGE, { view, new: "yes" })}>
      {`Add a ${noun}`}
    </ButtonLink>
  );
  return (
    <section class="stack">
      <div class="row">{add}</div>
      <Table
        caption={`Each ${noun}`}
        columns={[
          {
            id: "name",
            title: noun.replace(/^./, (letter) => letter.toUpperCase()),
            cell: ({ id, published }) => (
              <>
                <Link href={url.link(PAGE, { view, item: id })}>{nameOf(published) ?? id}</Link>
                <div class="mono muted">{id}</div>
              </>
            ),
          },
          ...columns,
        ]}
        rows={things}
        rowKey={({ id }) => id}
        error={error}
        onRetry={() => void refetch()}
        empty={<EmptyState title={`No ${noun} yet`}>{empty}</EmptyState>}
      />
    </section>
  );
}

/** Returns the name in the published facts; undefined if there is none. */
const nameOf = (published: object) => shortText((published as { readonly name?: unknown }).name);

interface ThingProps {
  readonly access: Access;
  readonly kind: FactKind;
  readonly view: string;
  readonly noun: string;
  readonly url: UrlState;
}

/** The form of the opened thing, with a way back to the list. */
function OneThing({ access, kind, view, noun, url, id }: ThingProps & { readonly id: string }) {
  const { things = [] } = useDescribed(access.systemId, kind);
  const thing = things.find((each) => each.id === id);
  const [isAsking, setAsking] = useState(false);
  const { run, isPending } = useAction();
  const back = () => url.filter({ item: "", new: "" });
  // Whether the operator has set facts of the thing. Otherwise it is only from a source, and there is nothing to remove.
  const isSet = thing !== undefined && Object.keys(thing.own).length > 0;
  const remove = () =>
    void run(async () => {
      // The button exists only once the thing is loaded.
      await removeFacts(access.systemId, kind, id, thing?.version ?? "none");
      showToast("success", `What you had set of ${id} is removed.`);
      back();
    }).finally(() => setAsking(false));
  return (
    <section class="stack">
      <p>
        <Link href={url.link(PAGE, { view })}>All</Link> / <strong>{nameOf(thing?.published ?? {}) ?? id}</strong>{" "}
        <span class="mono muted">{id}</span>
      </p>
      <FactForm
        access={access}
        kind={kind}
        id={id}
        onSaved={back}
        actions={isSet && <Button onClick={() => setAsking(true)}>{`Remove the ${noun}…`}</Button>}
      />
      <Dialog
        title={`Remove ${id}?`}
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        actions={
          <>
            <Button onClick={() => setAsking(false)}>Cancel</Button>
            <Button variant="danger" pending={isPending} onClick={remove}>
              Remove
            </Button>
          </>
        }
      >
        <p>What you have set is removed. What a source says of it stays.</p>
      </Dialog>
    </section>
  );
}

interface NewThingProps extends ThingProps {
  readonly idHint: string;
  /** The ids of existing things. */
  readonly taken: readonly string[];
}

/** The form of a new thing, which also asks for its id. */
function NewThing({ access, kind, view, noun, url, idHint, taken }: NewThingProps) {
  const [typed, setTyped] = useState("");
  const id = typed.trim();
  return (
    <section class="stack">
      <p>
        <Link href={url.link(PAGE, { view })}>All</Link> / <strong>{`A new ${noun}`}</strong>
      </p>
      <FactForm
        access={access}
        kind={kind}
        id={id}
        isNew
        idError={taken.includes(id) ? `There is a ${noun} with this id: open it in the list` : undefined}
        onSaved={() => url.filter({ new: "" })}
        before={<IdField hint={idHint} value={typed} onInput={setTyped} />}
      />
    </section>
  );
}

function IdField(props: Pick<ComponentProps<typeof TextField>, "hint" | "value" | "onInput">) {
  const error = useFactError("id");
  // The error is about the id that the reader tried to save, and not about the one that they type next.
  const refused = useMemo(() => props.value, [error]);
  return <TextField {...props} label="Id" monospace required error={props.value === refused ? error : undefined} />;
}
