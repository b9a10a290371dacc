import type { DescribedFactsOfKind } from "@bikeshare/contract/console";
import { type Fact, type FactKind, factKinds, type Facts } from "@bikeshare/contract/facts";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../../components/button.tsx";
import { ErrorState } from "../../components/error-state.tsx";
import { Form } from "../../components/form.tsx";
import { Loading } from "../../components/loading.tsx";
import { showToast } from "../../components/toast.tsx";
import type { Access } from "../../session/session.ts";
import { type Refusal, refusalOf } from "../refusal.ts";
import { useAction } from "../use-action.ts";
import { FactInput } from "./fact-input.tsx";
import { readFacts, setFacts, useChoices, useDescribed, useDescribedOne } from "./facts-data.ts";
import { FormContext } from "./form-context.ts";
import { draftOf, unreadyOf, valueOf } from "./form-values.ts";

/*
 * The form for the facts of one thing. A fact is a value that GBFS publishes about the thing. Of each fact the form knows
 * three values: the operator's (`own`), the one that applies (`published`), and what is typed (the draft, see
 * form-values.ts). The operator's value has precedence over that of a source, and both over a default.
 */

/** Where the published value of each fact is from: the operator, a source or a default. */
type Origins = DescribedFactsOfKind["from"];
/** Drafts or values by the name of their fact. */
type Drafts = Readonly<Record<string, unknown>>;

/** A thing of which nobody has described anything. The service calls that version `none`. */
const NOTHING: DescribedFactsOfKind = { id: "", published: {}, own: {}, from: {}, version: "none" };

interface FactFormProps {
  readonly access: Access;
  /** The kind of thing, such as `station` or `pricing_plan`. */
  readonly kind: FactKind;
  readonly id: string;
  /** Whether the thing does not exist yet. */
  readonly isNew?: boolean;
  /** Why a new thing cannot have this id. */
  readonly idError?: string | undefined;
  /** The level of the section headings, which depends on the headings above the form. */
  readonly heading?: "h2" | "h3";
  readonly onSaved?: () => void;
  /** Fields above the facts. */
  readonly before?: ComponentChildren;
  readonly actions?: ComponentChildren;
}

/**
 * The form for the facts of one thing, such as a station. Each fact has an input that fits its type. An empty input shows
 * the value that applies until the operator sets one.
 */
export function FactForm(props: FactFormProps) {
  const { access, kind, id, isNew = false } = props;
  if (isNew) return <FilledForm {...props} described={NOTHING} />;
  return <LoadedForm key={`${access.systemId} ${kind} ${id}`} {...props} />;
}

/** Shows the form of an existing thing once its facts are loaded. */
function LoadedForm(props: FactFormProps) {
  const { data, error, refetch } = useDescribedOne(props.access.systemId, props.kind, props.id);
  if (data !== undefined) return <FilledForm {...props} described={data} />;
  return error === null ? <Loading /> : <ErrorState error={error} onRetry={() => void refetch()} />;
}

interface FilledProps extends FactFormProps {
  /** The facts as they were when the form was opened. */
  readonly described: DescribedFactsOfKind;
}

/** The form itself. */
function FilledForm(props: FilledProps) {
  const { access, before, actions } = props;
  const { described, drafts, setDrafts, errors, isPending, save } = useFactForm(props);
  const context = useFormContext(access.systemId, errors);
  return (
    <FormContext.Provider value={context}>
      <div class="fact-form">
        <Form onSubmit={save} isChecked>
          <fieldset disabled={!access.canChange} class="stack">
            {before}
            <Sections
              facts={factKinds[props.kind]}
              described={described}
              drafts={drafts}
              heading={props.heading ?? "h2"}
              onChange={(name, draft) => setDrafts((others) => ({ ...others, [name]: draft }))}
            />
          </fieldset>
          {access.canChange && (
            <div class="row fact-save">
              <Button type="submit" variant="primary" pending={isPending}>
                Save
              </Button>
              {actions}
            </div>
          )}
        </Form>
      </div>
    </FormContext.Provider>
  );
}

/**
 * Holds the values of the form, and saves them. Saving never overwrites what somebody else has changed since the form was
 * loaded.
 */
function useFactForm({ access: { systemId }, kind, id, isNew = false, onSaved, ...props }: FilledProps) {
  const facts: Facts = factKinds[kind];
  const [described, setDescribed] = useState(props.described);
  const [drafts, setDrafts] = useState<Drafts>(() => draftsOf(facts, described.own));
  const [errors, setErrors] = useState<readonly Refusal[]>([]);
  const { run, isPending } = useAction();
  /** Fills the form with facts from the service, and with the drafts that are still to be saved. */
  const show = (now: DescribedFactsOfKind, typed: Drafts) => {
    setDescribed(now);
    setDrafts({ ...draftsOf(facts, now.own), ...typed });
  };
  const send = async () => {
    const changes = changesOf(facts, described.own, drafts);
    try {
      show(await setFacts(systemId, kind, id, changes, described.version), {});
    } catch (refused) {
      // A new thing keeps its form as it is: facts that are stored under its id belong to another thing, which the next
      // try would change if the form had their version.
      if (isNew) throw refused;
      // Reads what is stored now, so that the next try has its version. What the reader has typed stays in the form.
      const typed = Object.keys(changes).map((name) => [name, drafts[name]]);
      show(await readFacts(systemId, kind, id), Object.fromEntries(typed) as Drafts);
      throw refused;
    }
  };
  const save = () =>
    run(async () => {
      const idError = isNew && id === "" ? "Must be given" : props.idError;
      const unready = [
        ...(idError === undefined ? [] : [{ path: "id", message: idError }]),
        ...unreadyOf(facts, described.published, drafts),
      ];
      const refused = unready.length > 0 ? undefined : await refusalOf(send);
      const found = refused === undefined ? unready : [refused];
      setErrors(found);
      if (found.length > 0) return;
      showToast("success", "Saved. The feeds show it within a minute.");
      onSaved?.();
    });
  return { described, drafts, setDrafts, errors, isPending, save };
}

interface SectionsProps {
  readonly facts: Facts;
  readonly described: DescribedFactsOfKind;
  readonly drafts: Drafts;
  readonly heading: "h2" | "h3";
  readonly onChange: (name: string, draft: unknown) => void;
}

/** An input for each fact, grouped by the headings in the table of facts. */
function Sections({ facts, described: { own, published, from }, drafts, heading: Heading, onChange }: SectionsProps) {
  return sectionsOf(facts).map(({ heading, of }) => (
    <section key={heading} class="fact-section">
      {heading !== undefined && <Heading>{heading}</Heading>}
      {of.map(([name, { type, label, about, required }]) => (
        <FactInput
          key={name}
          type={type}
          path={name}
          label={label}
          required={required}
          hint={hintOf(about, from[name], drafts[name] !== undefined)}
          draft={drafts[name]}
          // What the operator has set is in the draft, so it is not shown as a placeholder.
          published={own[name] === undefined ? published[name] : undefined}
          onChange={(draft) => onChange(name, draft)}
        />
      ))}
    </section>
  ));
}

/** Returns the context that the inputs of facts read: errors, language and choices. */
export function useFormContext(systemId: string, errors: readonly Refusal[]) {
  const [system] = useDescribed(systemId, "system").things ?? [];
  const choices = {
    pricing_plan: useChoices(systemId, "pricing_plan"),
    vehicle_type: useChoices(systemId, "vehicle_type"),
  };
  return { errors, language: system?.published.language ?? "en", choices };
}

/** Returns the draft of each fact that the operator may set. */
function draftsOf(facts: Facts, own: Drafts): Drafts {
  return Object.fromEntries(Object.entries(facts).map(([name, { type }]) => [name, draftOf(type, own[name])]));
}

/** Returns the facts that the form changes. Null: the fact is to be removed. */
function changesOf(facts: Facts, own: Drafts, drafts: Drafts): Drafts {
  const values = Object.entries(facts).map(([name, { type }]) => [name, valueOf(type, drafts[name])] as const);
  // JSON compares values of any type, and omits undefined fields.
  const changed = values.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(own[name]));
  return Object.fromEntries(changed.map(([name, value]) => [name, value ?? null]));
}

interface Section {
  readonly heading: string | undefined;
  readonly of: [name: string, fact: Fact][];
}

/** Returns the facts under each heading. A fact without a heading belongs to the heading before it. */
function sectionsOf(facts: Facts): readonly Section[] {
  const sections: Section[] = [];
  for (const [name, fact] of Object.entries(facts)) {
    if (fact.heading !== undefined || sections.length === 0) sections.push({ heading: fact.heading, of: [] });
    sections.at(-1)?.of.push([name, fact]);
  }
  return sections;
}

/** Returns the hint of a fact: what it is about and, while the operator has not set it, where its value is from. */
function hintOf(about: string, from: Origins[string] | undefined, isSet: boolean): string {
  if (from === "source" && !isSet) return `${about}. From a source, until you set it`;
  if (from === "default" && !isSet) return `${about}. A default, until you set it`;
  return about;
}
