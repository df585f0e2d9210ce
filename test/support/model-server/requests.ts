type Part = Record<string, unknown>;

/** Names of the tools of a request, whatever the API. */
export function toolsIn(body: Part): string[] {
  return listOf(body['tools']).map((tool) => {
    const inner = tool['function'];
    return String(isPart(inner) ? inner['name'] : tool['name']);
  });
}

/** What users and tools say in a request, in order, whatever the API. */
export function heardIn(body: Part): string[] {
  return [...listOf(body['messages']), ...listOf(body['input'])].flatMap((message) => {
    if (message['type'] === 'function_call_output') return [String(message['output'])];
    if (message['role'] !== 'user' && message['role'] !== 'tool') return [];
    const { content } = message;
    if (typeof content === 'string') return [content];
    return listOf(content).map((part) => String(part['text'] ?? part['content']));
  });
}

function listOf(value: unknown): Part[] {
  return Array.isArray(value) ? value.filter(isPart) : [];
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null;
}
