import { useState } from "preact/hooks";
import { Code } from "../../components/code.tsx";
import { SelectField } from "../../components/field.tsx";
import { Table } from "../../components/table.tsx";
import { curlExample } from "./curl-example.ts";
import { type Content, type Endpoint, errorsOf, type OpenApiDocument, successOf } from "./openapi.ts";
import { Prose, words } from "./prose.tsx";
import { type SchemaRow, schemaRows, typeText } from "./schema-rows.ts";

interface EndpointDetailsProps {
  readonly endpoint: Endpoint;
  readonly document: OpenApiDocument;
}

/** One endpoint: what it takes, what it answers, and how it fails. */
export function EndpointDetails({ endpoint, document }: EndpointDetailsProps) {
  const { components, servers } = document;
  const success = successOf(endpoint);
  const parameters = endpoint.parameters.map(({ name, in: from, required = false, description = "", schema }) => ({
    name,
    type: `${typeText(components, schema)}, ${from}`,
    isRequired: required,
    description,
  }));
  return (
    <>
      <Prose text={endpoint.description} />
      <Code label="As curl" text={curlExample(endpoint, servers[0]?.url ?? location.origin)} />
      {parameters.length > 0 && <Fields title="Parameters" rows={parameters} />}
      {endpoint.request !== undefined && (
        <>
          <Fields title="Body" rows={schemaRows(components, endpoint.request.schema)} />
          <Examples key={`${endpoint.id} body`} label="Example of a body" content={endpoint.request} />
        </>
      )}
      {success?.content !== undefined && (
        <>
          <Fields title={`Answer ${success.status}`} rows={schemaRows(components, success.content.schema)} isAnswer />
          <Examples key={`${endpoint.id} answer`} label="Example of an answer" content={success.content} />
        </>
      )}
      <Errors endpoint={endpoint} />
    </>
  );
}

interface FieldsProps {
  readonly title: string;
  readonly rows: readonly SchemaRow[];
  /** Of an answer nearly all fields are there: the others are marked. */
  readonly isAnswer?: boolean;
}

function Fields({ title, rows, isAnswer = false }: FieldsProps) {
  if (rows.length === 0) return null;
  return (
    <section class="stack">
      <h3>{title}</h3>
      <dl class="reference-fields">
        {rows.map(({ name, type, isRequired, description }) => (
          <div key={name}>
            <dt>
              <code>{name}</code> <span class="muted">{type}</span>
              {isRequired !== isAnswer && (
                <strong class="reference-mark"> {isAnswer ? "may be absent" : "required"}</strong>
              )}
            </dt>
            {description !== "" && <dd>{words(description)}</dd>}
          </div>
        ))}
      </dl>
    </section>
  );
}

function Examples({ label, content }: { readonly label: string; readonly content: Content }) {
  const examples = Object.entries(content.examples ?? {});
  const [chosen, setChosen] = useState(examples[0]?.[0] ?? "");
  const example = content.examples?.[chosen];
  if (example === undefined) return null;
  return (
    <div class="stack">
      {examples.length > 1 && (
        <SelectField
          label={label}
          value={chosen}
          choices={examples.map(([value, { summary = value }]) => ({ value, label: summary }))}
          onChange={setChosen}
        />
      )}
      <Code label={label} text={JSON.stringify(example.value, null, 2)} />
    </div>
  );
}

function Errors({ endpoint }: { readonly endpoint: Endpoint }) {
  return (
    <section class="stack">
      <h3>Errors</h3>
      <Table
        caption="Errors"
        rows={errorsOf(endpoint)}
        rowKey={({ status, code }) => `${status} ${code}`}
        empty={<p class="state muted">It answers with none.</p>}
        columns={[
          { id: "status", title: "Status", cell: ({ status }) => status },
          { id: "code", title: "Code", cell: ({ code }) => <code>{code}</code> },
          { id: "message", title: "Meaning", cell: ({ message }) => words(message) },
        ]}
      />
    </section>
  );
}
