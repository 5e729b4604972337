/* The page at /ui/api: /openapi.json as operations by noun, with samples. */

import { make } from './dom.js';

const SOURCE = new URL('../openapi.json', location.href);
const JSON_TYPE = 'application/json';

const code = (text) => make('code', {}, text);

/** A schema's bounds in words. */
function bounds(schema) {
  if (schema.anyOf) return schema.anyOf.map(bounds).join(', or ');
  if ('const' in schema) return JSON.stringify(schema.const);
  const words = [schema.enum ? `one of ${schema.enum.map((each) => JSON.stringify(each)).join(', ')}` : schema.type ?? 'anything'];
  if (schema.items) words.push(`of: ${bounds(schema.items)}`);
  if (schema.maxItems) words.push(`${schema.minItems ?? 0} to ${schema.maxItems} of these`);
  if (schema.maxLength) words.push(`${schema.minLength ?? 0} to ${schema.maxLength} characters`);
  if (schema.maximum) words.push(`${schema.minimum ?? 0} to ${schema.maximum}`);
  if ('default' in schema) words.push(`by default ${JSON.stringify(schema.default)}`);
  return words.join('; ');
}

function fieldList(fields) {
  return make('dl', {}, fields.map((field) => [
    make('dt', {}, code(field.name), field.required ? ' needed' : ''),
    make('dd', {}, field.description ?? '', make('div', { class: 'bounds' }, bounds(field.schema))),
  ]));
}

/** The shapes of a body: the fields of each. */
function shapes(schema) {
  return (schema.anyOf ?? [schema]).map((shape) => {
    const object = shape.items ?? shape;
    const fields = Object.entries(object.properties ?? {}).map(([name, field]) => ({
      name, schema: field, description: field.description, required: (object.required ?? []).includes(name),
    }));
    return { isList: shape.type === 'array', fields };
  });
}

/** An outline of a schema; named schemas appear by name. */
function outline(schema, depth = 0) {
  if (schema.$ref) return schema.$ref.split('/').pop();
  if (schema.anyOf) return schema.anyOf.map((each) => outline(each, depth)).join('\n| ');
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.items) return `[${outline(schema.items, depth)}, …]`;
  const space = '  '.repeat(depth + 1);
  const needed = schema.required ?? [];
  const lines = Object.entries(schema.properties ?? {}).map(([name, each]) =>
    `${space}${JSON.stringify(name)}${needed.includes(name) ? '' : '?'}: ${outline(each, depth + 1)}`);
  if (typeof schema.additionalProperties === 'object') lines.push(`${space}…: ${outline(schema.additionalProperties, depth + 1)}`);
  if (lines.length) return `{\n${lines.join(',\n')}\n${'  '.repeat(depth)}}`;
  return [schema.type ?? 'anything'].flat().join(' | ');
}

/** A value that fits a schema, for samples. */
function sample(schema, name) {
  if (schema.anyOf) return sample(schema.anyOf[0], name);
  if ('default' in schema) return schema.default;
  if (schema.enum) return schema.enum[0];
  if ('const' in schema) return schema.const;
  if (schema.items) return [sample(schema.items, name)];
  if (schema.type === 'integer') return schema.minimum ?? 0;
  if (schema.type === 'boolean') return true;
  return ['path', 'paths', 'url'].includes(name) ? '/a' : name;
}

function request(path, method, operation) {
  const target = new URL(`..${path.replace('{id}', 'ID')}`, location.href);
  for (const each of operation.parameters) {
    if (each.in === 'query' && (each.required || each.name === 'path')) target.searchParams.set(each.name, sample(each.schema, each.name));
  }
  const headers = {};
  if (!operation.security.some((each) => !Object.keys(each).length)) headers.authorization = 'Bearer TOKEN';
  let body = null;
  const schema = operation.requestBody?.content[JSON_TYPE]?.schema;
  if (schema) {
    const all = shapes(schema);
    const { fields } = all.find((shape) => !shape.isList && shape.fields.some((field) => field.required)) ?? all[all.length - 1];
    const wanted = fields.filter((field) => field.required);
    const sent = (wanted.length ? wanted : fields.slice(0, 1)).map((field) => [field.name, sample(field.schema, field.name)]);
    headers['content-type'] = JSON_TYPE;
    body = JSON.stringify(Object.fromEntries(sent));
  }
  return { target: target.href, method: method.toUpperCase(), headers, body };
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl({ target, method, headers, body }) {
  const words = ['curl', method === 'GET' ? '' : `-X ${method}`, quoted(target),
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`), body && `-d ${quoted(body)}`];
  return words.filter(Boolean).join(' \\\n  ');
}

function fetching({ target, method, headers, body }) {
  const options = { ...(method === 'GET' ? {} : { method }), ...(Object.keys(headers).length ? { headers } : {}), ...(body ? { body } : {}) };
  const rest = Object.keys(options).length ? `, ${JSON.stringify(options, null, 2)}` : '';
  return `const response = await fetch(${JSON.stringify(target)}${rest});\nconst answer = await response.json();`;
}

/** The schema of a successful response: under /api, of its data. */
function answers(operation) {
  const schema = operation?.responses['200'].content?.[JSON_TYPE]?.schema ?? {};
  const all = (schema.anyOf ?? [schema]).filter((each) => !each.properties?.errno?.enum);
  return all.map((each) => outline(each.properties?.errno ? each.properties.data : each)).join('\n| ');
}

function shown(path, method, operation, bare) {
  const parts = [make('p', { class: 'who' }, `Who: ${operation['x-who']}`)];
  const parameters = operation.parameters.filter((each) => each.in !== 'header');
  if (parameters.length) parts.push(make('h3', {}, 'Parameters'), fieldList(parameters));
  const body = operation.requestBody?.content[JSON_TYPE]?.schema;
  for (const shape of body ? shapes(body) : []) {
    parts.push(make('h3', {}, shape.isList ? 'Body: a list of' : 'Body'), fieldList(shape.fields));
  }
  const wrapped = answers(operation);
  if (wrapped) parts.push(make('h3', {}, 'Data'), make('pre', {}, wrapped));
  const plain = bare && answers(bare);
  if (plain && plain !== wrapped) parts.push(make('h3', {}, 'Without prefix'), make('pre', {}, plain));
  // The admin UI sends a cookie, which scripts cannot read.
  if (!path.startsWith('/ui/')) {
    const asked = request(path, method, operation);
    parts.push(make('h3', {}, 'curl'), make('pre', {}, curl(asked)), make('h3', {}, 'fetch'), make('pre', {}, fetching(asked)));
  }
  return make('details', {},
    make('summary', {}, make('span', { class: 'method' }, method.toUpperCase()), code(path), ` ${operation.summary}`),
    make('div', { class: 'body' }, parts));
}

function show(description) {
  const byNoun = new Map(description.tags.map((tag) => [tag.name, { text: tag.description, operations: [] }]));
  for (const [path, methods] of Object.entries(description.paths)) {
    if (!path.startsWith('/api/') && !path.startsWith('/ui/')) continue;
    for (const [method, operation] of Object.entries(methods)) {
      const bare = description.paths[path.replace(/^\/api/, '')]?.[method];
      byNoun.get(operation.tags[0]).operations.push(shown(path, method, operation, bare));
    }
  }
  const nouns = document.getElementById('nouns');
  const operations = document.getElementById('operations');
  for (const [name, noun] of byNoun) {
    nouns.append(make('a', { href: `#${name}` }, noun.text));
    operations.append(make('h2', { id: name }, noun.text), ...noun.operations);
  }
  const named = Object.entries(description.components.schemas).map(([name, schema]) => make('details', {},
    make('summary', {}, code(name)), make('div', { class: 'body' }, make('pre', {}, outline(schema)))));
  operations.append(make('h2', { id: 'objects' }, 'Objects'), ...named);
  nouns.append(make('a', { href: '#objects' }, 'Objects'));
}

const status = document.getElementById('status');
try {
  const response = await fetch(SOURCE);
  if (!response.ok) throw new Error(`${response.status}`);
  show(await response.json());
  status.hidden = true;
} catch {
  status.textContent = 'The description could not be loaded. Try again in a minute.';
}
