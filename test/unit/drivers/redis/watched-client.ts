/** What was done to an object. */
export interface Uses {
  /** The names of all properties that were read. */
  readonly read: Set<string>;
  /** What was written, defined or deleted. */
  readonly written: string[];
}

/** The same object, and a record of every use of it. */
export function watched<T extends object>(target: T): [object: T, uses: Uses] {
  const uses: Uses = { read: new Set(), written: [] };
  const note = (name: string | symbol): true => {
    uses.written.push(String(name));
    return true;
  };
  const proxy = new Proxy(target, {
    get: (object, name, receiver) => {
      uses.read.add(String(name));
      return Reflect.get(object, name, receiver);
    },
    set: (_, name) => note(name),
    defineProperty: (_, name) => note(name),
    deleteProperty: (_, name) => note(name),
    setPrototypeOf: () => note('prototype'),
  });
  return [proxy, uses];
}
