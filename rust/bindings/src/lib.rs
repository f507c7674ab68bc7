//! [`toolbudget_core`] as the Python module `toolbudget._core._native`.
//!
//! Here Python's objects are read and handed on; every decision is made in the core. The
//! signatures and their documentation are in `_native.pyi`.

mod address;
mod again;
mod cache;
mod cache_entry;
mod choices;
mod classes;
mod collect;
mod columns;
mod decision_reading;
mod decision_table;
mod decisions;
mod error;
mod guard;
mod items;
mod json_knowledge;
mod json_plan;
mod json_rewrite;
mod json_scan;
mod json_standing;
mod kept_json;
mod knowledge;
mod known;
mod late;
mod late_replacement;
mod lengths;
mod links;
mod lookups;
mod number;
mod options;
mod outline;
mod own_candidate;
mod past;
mod paths;
mod placing;
mod plan;
mod plan_again;
mod plan_items;
mod plan_writer;
mod prepared;
mod raw;
mod replacement;
mod rewrite;
mod search;
mod settled;
mod shape;
mod spares;
mod standing;
mod styles;
mod text;
mod texts;
mod totals;
mod walk;

/// The native core; see `_native.pyi`. What it borrows from the host's objects stays valid only
/// while no other thread runs Python code.
#[pyo3::pymodule(gil_used = true)]
mod _native {
    use pyo3::prelude::*;
    use pyo3::types::{PyBytes, PyList, PyMapping, PyString};

    use crate::collect::Collected;
    use crate::guard::{self, guarded};
    use crate::json_scan::JsonScan;
    use crate::raw::Readers;
    use crate::{lookups, number, raw, replacement, styles, text};

    #[pymodule_export]
    use crate::cache::FingerprintCache;
    #[pymodule_export]
    use crate::choices::Choices;
    #[pymodule_export]
    use crate::decision_table::DecisionTable;
    #[pymodule_export]
    use crate::past::Past;
    #[pymodule_export]
    use crate::plan_items::PlanItems;
    #[pymodule_export]
    use crate::totals::TotalsOfGroups;

    #[pyfunction]
    #[pyo3(signature = (text))]
    fn utf8_length(text: &Bound<'_, PyString>) -> PyResult<usize> {
        guarded(text.py(), || text::utf8_length(text))
    }

    #[pyfunction]
    #[pyo3(signature = (text, max_bytes))]
    fn cut_preview<'py>(
        text: &Bound<'py, PyString>,
        max_bytes: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyString>, bool)> {
        guarded(text.py(), || replacement::cut_preview(text, max_bytes))
    }

    #[pyfunction]
    #[pyo3(signature = (text, max_bytes))]
    fn head_tail_preview<'py>(
        text: &Bound<'py, PyString>,
        max_bytes: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyString>, bool)> {
        guarded(text.py(), || styles::head_tail_preview(text, max_bytes))
    }

    #[pyfunction]
    #[pyo3(signature = (text, max_bytes))]
    fn json_preview<'py>(
        text: &Bound<'py, PyString>,
        max_bytes: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyString>, bool)> {
        guarded(text.py(), || styles::json_preview(text, max_bytes))
    }

    #[pyfunction]
    #[pyo3(signature = (text, max_bytes))]
    fn salient_preview<'py>(
        text: &Bound<'py, PyString>,
        max_bytes: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyString>, bool)> {
        guarded(text.py(), || styles::salient_preview(text, max_bytes))
    }

    #[pyfunction]
    #[pyo3(signature = (text, max_bytes))]
    fn table_preview<'py>(
        text: &Bound<'py, PyString>,
        max_bytes: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyString>, bool)> {
        guarded(text.py(), || styles::table_preview(text, max_bytes))
    }

    #[pyfunction]
    #[pyo3(signature = (parts, max_bytes, style, outline=None))]
    fn show_preview<'py>(
        parts: &Bound<'py, PyAny>,
        max_bytes: &Bound<'py, PyAny>,
        style: &Bound<'py, PyAny>,
        outline: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(parts.py(), || {
            styles::show_preview(parts, max_bytes, style, outline)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (sizes, total, limit))]
    fn select_largest(
        sizes: &Bound<'_, PyAny>,
        total: i128,
        limit: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<usize>> {
        guarded(sizes.py(), || {
            let sizes = number::sizes(sizes)?;
            let limit = number::limit(limit)?;
            Ok(toolbudget_core::select_largest(&sizes, total, limit))
        })
    }

    #[pyfunction]
    #[pyo3(signature = (parts))]
    fn fingerprint<'py>(parts: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guarded(parts.py(), || replacement::fingerprint(parts))
    }

    #[pyfunction]
    #[pyo3(signature = (parts))]
    fn estimate_tokens(parts: &Bound<'_, PyAny>) -> PyResult<u64> {
        guarded(parts.py(), || replacement::estimate_tokens(parts))
    }

    #[pyfunction]
    #[pyo3(signature = (parts, unit))]
    fn measure(parts: &Bound<'_, PyAny>, unit: &Bound<'_, PyAny>) -> PyResult<u64> {
        guarded(parts.py(), || replacement::measure(parts, unit))
    }

    #[pyfunction]
    #[pyo3(signature = (
        text, path, *, preview_bytes, reader_hint=None, size_bytes=None, shown=None
    ))]
    fn build_replacement<'py>(
        text: &Bound<'py, PyString>,
        path: &Bound<'py, PyAny>,
        preview_bytes: &Bound<'py, PyAny>,
        reader_hint: Option<&Bound<'py, PyAny>>,
        size_bytes: Option<&Bound<'py, PyAny>>,
        shown: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyString>> {
        guarded(text.py(), || {
            replacement::build(text, path, preview_bytes, reader_hint, size_bytes, shown)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (text))]
    fn is_framed_reference(text: &Bound<'_, PyString>) -> PyResult<bool> {
        guarded(text.py(), || replacement::is_framed_reference(text))
    }

    #[pyfunction]
    #[pyo3(signature = (messages, is_exempt_tool))]
    fn collect<'py>(
        messages: &Bound<'py, PyAny>,
        is_exempt_tool: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(messages.py(), || {
            let py = messages.py();
            Collected::of(messages, is_exempt_tool, &mut Readers::new(py), 0)?.to_survey(py)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (messages, known, is_exempt_tool))]
    fn columns<'py>(
        messages: &Bound<'py, PyAny>,
        known: Option<&Bound<'py, PyAny>>,
        is_exempt_tool: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(messages.py(), || {
            crate::columns::columns(messages, known, is_exempt_tool)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (messages, known, options))]
    fn plan<'py>(
        messages: &Bound<'py, PyAny>,
        known: &Bound<'py, PyAny>,
        options: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(messages.py(), || {
            crate::plan::plan(messages, known, options)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (past, messages, known, options, earlier))]
    fn plan_rest<'py>(
        past: &Bound<'py, Past>,
        messages: &Bound<'py, PyList>,
        known: &Bound<'py, PyAny>,
        options: &Bound<'py, PyAny>,
        earlier: &Bound<'py, PyList>,
    ) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyList>)>> {
        guarded(past.py(), || {
            crate::past::plan_rest(past, messages, known, options, earlier)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (totals, limit, accounting))]
    fn totals_over<'py>(
        totals: &Bound<'py, PyAny>,
        limit: &Bound<'py, PyAny>,
        accounting: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = totals.py();
        guarded(py, || match totals.cast_exact::<TotalsOfGroups>() {
            Ok(own) => Ok(crate::totals::over(own, limit, accounting)?.into_any()),
            Err(_) => lookups::TOTALS_OVER
                .get(py)?
                .call1((totals, limit, accounting)),
        })
    }

    #[pyfunction]
    #[pyo3(signature = (messages, changes))]
    fn rewrite<'py>(
        messages: &Bound<'py, PyAny>,
        changes: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(messages.py(), || crate::rewrite::rewrite(messages, changes))
    }

    #[pyfunction]
    #[pyo3(signature = (messages, changes, earlier))]
    fn rewrite_again<'py>(
        messages: &Bound<'py, PyAny>,
        changes: &Bound<'py, PyAny>,
        earlier: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyList>)> {
        guarded(messages.py(), || {
            crate::rewrite::rewrite_again(messages, changes, earlier)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (messages))]
    fn outline<'py>(messages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        guarded(messages.py(), || crate::outline::outline(messages))
    }

    #[pyfunction]
    #[pyo3(signature = (keys, left_out, *, max_id_bytes, max_part_chars))]
    fn kept_json<'py>(
        keys: &Bound<'py, PyAny>,
        left_out: &Bound<'py, PyAny>,
        max_id_bytes: &Bound<'py, PyAny>,
        max_part_chars: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(keys.py(), || {
            crate::kept_json::kept_json(keys, left_out, max_id_bytes, max_part_chars)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (messages, beginning))]
    fn begins_with(messages: &Bound<'_, PyList>, beginning: &Bound<'_, PyList>) -> PyResult<bool> {
        guarded(messages.py(), || Ok(raw::begins_with(messages, beginning)))
    }

    #[pyfunction]
    #[pyo3(signature = (content, text))]
    fn replace_content<'py>(
        content: &Bound<'py, PyAny>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(text.py(), || {
            crate::rewrite::replace_content(Some(content), text)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (body, earlier=None))]
    fn scan_json<'py>(
        body: &Bound<'py, PyBytes>,
        earlier: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, JsonScan>> {
        let py = body.py();
        guarded(py, || {
            // A scan of the other core holds nothing that this one could use.
            let earlier = earlier.and_then(|earlier| earlier.cast_exact::<JsonScan>().ok());
            if let Some(earlier) = earlier
                && earlier.get().is_of(body)
            {
                return Ok(earlier.clone());
            }
            Bound::new(py, JsonScan::of(body, earlier.map(Bound::get))?)
        })
    }

    #[pyfunction]
    #[pyo3(signature = (scan, known, options))]
    fn plan_json<'py>(
        scan: &Bound<'py, JsonScan>,
        known: &Bound<'py, PyAny>,
        options: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        guarded(scan.py(), || crate::json_plan::plan(scan, known, options))
    }

    #[pyfunction]
    #[pyo3(signature = (scan, changes))]
    fn rewrite_json<'py>(
        scan: &Bound<'py, JsonScan>,
        changes: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        guarded(scan.py(), || crate::json_rewrite::rewrite(scan, changes))
    }

    #[pyfunction]
    #[pyo3(signature = (scan, changes))]
    fn rewrite_json_segments<'py>(
        scan: &Bound<'py, JsonScan>,
        changes: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        guarded(scan.py(), || crate::json_rewrite::segments(scan, changes))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // An attribute only: what is added as a function is public.
        module.setattr("_panic", pyo3::wrap_pyfunction!(guard::panic, module)?)?;
        let panic_after = pyo3::wrap_pyfunction!(guard::panic_after, module)?;
        module.setattr("_panic_after", panic_after)?;
        module.setattr("_read_in_place", raw::read_in_place(module.py()))?;
        // Not a part of the core: it reads files, and has no pure twin.
        let search_files = pyo3::wrap_pyfunction!(crate::search::search_files, module)?;
        module.setattr("_search_files", search_files)?;
        let search_text = pyo3::wrap_pyfunction!(crate::search::search_text, module)?;
        module.setattr("_search_text", search_text)?;
        // The same: the straight way of the store, which has a general one in Python.
        let place_texts = pyo3::wrap_pyfunction!(crate::placing::place_texts, module)?;
        module.setattr("_place_texts", place_texts)?;
        lookups::find_all(module.py())?;
        PyMapping::register::<DecisionTable>(module.py())
    }
}
