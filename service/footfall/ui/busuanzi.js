/*! Footfall, MIT. Numbers in the elements of busuanzi, soxft's busuanzi and Vercount. */
(d => {
// Loaded again, as themes do after pjax.
if (window.bszCaller?.footfall) return window.bszCaller.footfall()
const script = d.currentScript, { src, dataset = {} } = script || {}
const names = ['site_pv', 'site_uv', 'page_pv', 'page_uv']
const when = (yes, event) => yes && new Promise(go => d.addEventListener(event, go))
// the address counted last, and its numbers
let at, asked, numbers = {}

const each = (name, kinds, change) => kinds.forEach(kind =>
	['busuanzi', 'vercount', dataset.prefix].forEach(prefix => {
		const e = d.getElementById(`${prefix}_${kind}${name}`)
		if (e) change(e)
	}))
const display = value => names.forEach(name =>
	each(name, ['container_'], e => { e.style.display = value(name) }))
// 0: the service does not store it
const tag = window.bszTag = {
	bszs: names,
	texts: n => names.forEach(name =>
		n?.[name] > 0 && each(name, ['value_', ''], e => { e.textContent = n[name] })),
	shows: () => display(name => numbers[name] > 0 ? 'inline' : 'none'),
	hides: () => display(() => 'none')
}

const ask = async url => {
	await when(d.prerendering, 'prerenderingchange')
	let out
	try { out = localStorage.footfall == 'ex' } catch {} // as count.js keeps it
	const log = new URL('api/v2/log', new URL(dataset.api || '/', src || location))
	// no preflight
	let page_uv
	each('page_uv', ['value_', '', 'container_'], () => { page_uv = true })
	const answer = await (out ? fetch(`${log}?url=${encodeURIComponent(url)}${page_uv ? '&page_uv=true' : ''}`) :
		fetch(log, { method: 'POST', keepalive: true, body: JSON.stringify({ url, page_uv }) }))
	return (await answer.json()).data
}
const visit = async () => {
	// the service reads no more of it
	const url = location.href.split(/[?#]/)[0]
	if (url != at) asked = ask(at = url).catch(() => {})
	const found = await asked
	await when(d.readyState == 'loading', 'DOMContentLoaded')
	if (url != at) return
	numbers = found || {}
	tag.texts(numbers)
	tag.shows()
	return found
}
window.bszCaller = {
	// the address is that of a busuanzi: this page is counted, unless it was
	fetch: (_, call) => visit().then(n => n && call?.(n)).catch(() => {}),
	footfall: () => { visit() }
}

d.addEventListener('pjax:complete', visit)
if (dataset.pjax != null || script?.hasAttribute('pjax')) {
	const push = history.pushState
	history.pushState = function () {
		push.apply(this, arguments)
		visit()
	}
	addEventListener('popstate', visit)
}
visit()
})(document)
